package api

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/video"
)

// shareRoutes are the operations on the shares of a video.
type shareRoutes struct{ shares *share.Service }

func (r shareRoutes) register(t *table) {
	shareID := pathParameter("shareId", "The id of the share.", &huma.Schema{Type: huma.TypeString, Format: "uuid"})
	addWithBody(t, operation{
		id: "createShare", route: "POST /api/video/{id}/share", summary: "Make a page for people without a key", tag: "video", optionalBody: true,
		notes: "Everybody who has url can watch the video, also a private one, and needs the password if there is one. Needs the scopes read and write. " +
			"409 limit_reached: a video has at most 100 shares.",
		scopes: []auth.Scope{auth.Read, auth.Write}, status: 201, errors: []int{404, 409, 413, 415}, parameters: []*huma.Param{videoID()},
	}, r.create)
	add(t, operation{
		id: "listShares", route: "GET /api/video/{id}/share", summary: "List the shares of a video, newest first", tag: "video",
		scopes: []auth.Scope{auth.Read}, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID()},
	}, r.list)
	add(t, operation{
		id: "deleteShare", route: "DELETE /api/video/{id}/share/{shareId}", summary: "Delete a share", tag: "video",
		notes:  "The page is gone at once. What it handed out ends within a minute.",
		scopes: []auth.Scope{auth.Write}, status: 200, errors: []int{404}, parameters: []*huma.Param{videoID(), shareID},
	}, r.delete)
}

// newShare is the body of a request for a share.
type newShare struct {
	Label     string `json:"label,omitempty" maxLength:"200" nullable:"true" doc:"For you, to tell shares apart. Visitors do not see it."`
	ExpiresAt string `json:"expiresAt,omitempty" format:"date-time" nullable:"true" doc:"When the page ends, in the future. Absent or null: never."`
	Password  string `json:"password,omitempty" maxLength:"200" nullable:"true" doc:"What the page asks for. It is kept as argon2id. Absent, null or empty: none."`
	Download  bool   `json:"download,omitempty" nullable:"true" doc:"The page offers the largest MP4 file."`
}

// expiry returns when the page ends; zero: never.
func (n *newShare) expiry() (time.Time, error) {
	if n.ExpiresAt == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, n.ExpiresAt)
}

// check implements checker.
func (n *newShare) check() (faults []video.Fault) {
	for _, text := range []struct {
		field, value string
		most         int
	}{{"label", n.Label, share.MaxLabel}, {"password", n.Password, share.MaxPassword}} {
		if length := utf8.RuneCountInString(text.value); length > text.most {
			faults = append(faults, video.Fault{Field: text.field, Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters, has %d", text.most, length)})
		} else if strings.ContainsFunc(text.value, unicode.IsControl) {
			faults = append(faults, video.Fault{Field: text.field, Code: "not_allowed", Message: "must have no control characters"})
		}
	}
	if _, err := n.expiry(); err != nil {
		faults = append(faults, video.Fault{Field: "expiresAt", Code: "out_of_range", Message: "must be a time such as 2030-01-31T12:00:00Z"})
	}
	return faults
}

// shareView is a page for people without a key.
type shareView struct {
	ID          share.ID   `json:"id" format:"uuid"`
	URL         string     `json:"url" format:"uri" doc:"Of the page. It is a secret: it opens the video."`
	Label       string     `json:"label"`
	CreatedAt   time.Time  `json:"createdAt"`
	ExpiresAt   *time.Time `json:"expiresAt" nullable:"true" doc:"null: never."`
	HasPassword bool       `json:"hasPassword"`
	Download    bool       `json:"download"`
}

// shareList is the shares of a video.
type shareList struct {
	Shares []shareView `json:"shares" nullable:"false"`
}

func viewShare(s share.Share, base string) shareView {
	out := shareView{ID: s.ID, URL: base + s.Path(), Label: s.Label, CreatedAt: s.CreatedAt.UTC(), HasPassword: s.HasPassword(), Download: s.Download}
	if !s.ExpiresAt.IsZero() {
		out.ExpiresAt = new(s.ExpiresAt.UTC())
	}
	return out
}

func (r shareRoutes) create(ctx context.Context, c *call, in *newShare) (*shareView, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	expires, err := in.expiry()
	if err != nil {
		return nil, err // check has seen it
	}
	made, err := r.shares.Create(ctx, c.actor, c.id, share.Draft{Label: in.Label, ExpiresAt: expires, Password: in.Password, Download: in.Download})
	if err != nil {
		return nil, err
	}
	return new(viewShare(made, base)), nil
}

func (r shareRoutes) list(ctx context.Context, c *call) (*shareList, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	all, err := r.shares.List(ctx, c.actor, c.id)
	if err != nil {
		return nil, err
	}
	out := &shareList{Shares: make([]shareView, len(all))}
	for i, s := range all {
		out.Shares[i] = viewShare(s, base)
	}
	return out, nil
}

func (r shareRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	id, err := video.ParseID("shareId", c.request.PathValue("shareId"))
	if err != nil {
		return nil, err
	}
	return nil, r.shares.Delete(ctx, c.actor, c.id, share.ID(id))
}
