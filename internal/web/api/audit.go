package api

import (
	"context"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// auditRoutes are the log of who changed what.
type auditRoutes struct{ log *audit.Log }

func (r auditRoutes) register(t *table) {
	add(t, operation{
		id: "listAudit", route: "GET /api/audit", summary: "List who changed what in your tenant, newest first", tag: "tenant",
		notes:  "Everything that changes something is in it, for 400 days. Reading and playback are not, nor tokens and URLs for them.",
		scopes: []auth.Scope{auth.Admin}, status: 200, parameters: described(new(auditQuery).parameters()), costly: true,
	}, r.list)
}

// auditQuery is what the log is asked for.
type auditQuery struct {
	page
	filter audit.Filter
}

// maxActor is the length of the longest ID of an actor, in bytes.
const maxActor = 320

func (q *auditQuery) parameters() []parameter {
	return append(q.page.parameters("entries", "the newest entries"),
		parameter{
			name: "actor", doc: "Only what this actor did: the id of a key, or what a person is called by.", schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(maxActor)},
			decode: func(s string) []video.Fault {
				if q.filter.Actor = s; len(s) > maxActor {
					return []video.Fault{{Field: "actor", Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters", maxActor)}}
				}
				return nil
			},
		},
		oneOf("action", "Only these changes.", &q.filter.Action, video.Actions))
}

// auditEntry is one change.
type auditEntry struct {
	At      time.Time    `json:"at"`
	Actor   auditActor   `json:"actor"`
	Action  video.Action `json:"action" doc:"What was done, such as video.create. New ones may be added."`
	VideoID video.ID     `json:"videoId,omitempty" format:"uuid" doc:"The video that it was done to, which may be deleted."`
	Target  string       `json:"target,omitempty" doc:"What else it was done to: the id of a key, webhook, share, resolution or watermark, or the language of captions. Of video.delete: expired, if Spool did it because of expiresAt."`
	Address string       `json:"address,omitempty" doc:"The IP address that the request came from. Absent: it did not come from a network."`
}

// auditActor is who made a change.
type auditActor struct {
	Kind video.DoerKind `json:"kind" enum:"key,person,system" doc:"key: a program. person: somebody who was signed in. system: a command on the machine, or Spool itself."`
	ID   string         `json:"id" doc:"The id of the key. Of a person, their address. Of a command, its user on the machine."`
	Name string         `json:"name"`
}

type auditList struct {
	Entries    []auditEntry `json:"entries" nullable:"false"`
	NextCursor string       `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

func (r auditRoutes) list(ctx context.Context, c *call) (*auditList, error) {
	q := auditQuery{page: newPage()}
	if err := c.query(q.parameters()); err != nil {
		return nil, err
	}
	found, err := r.log.List(ctx, c.actor, q.filter, q.after, q.limit)
	if err != nil {
		return nil, err
	}
	out := &auditList{Entries: make([]auditEntry, len(found.Entries)), NextCursor: nextCursor(found.Next)}
	for i, e := range found.Entries {
		out.Entries[i] = auditEntry{
			At: e.At.UTC(), Actor: auditActor{e.Doer.Kind, e.Doer.ID, e.Doer.Name}, Action: e.Action, VideoID: e.Video, Target: e.Target, Address: e.Doer.Address,
		}
	}
	return out, nil
}
