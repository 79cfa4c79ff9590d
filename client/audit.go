package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// AuditEntry is a change that somebody made.
type AuditEntry struct {
	At      time.Time  `json:"at"`
	Actor   AuditActor `json:"actor"`
	Action  string     `json:"action"`            // such as video.create
	VideoID string     `json:"videoId,omitempty"` // the video may be deleted
	Target  string     `json:"target,omitempty"`  // what else was changed, such as the ID of a key
	Address string     `json:"address,omitempty"` // that the request came from
}

// AuditActor is who made a change.
type AuditActor struct {
	Kind string `json:"kind"` // key, person or system
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AuditFilter says which changes are asked for; what is empty matches all.
type AuditFilter struct {
	Actor  string // an ID
	Action string
}

// Audit returns who changed what in the key's tenant, newest first. It asks for one page after the other. An error is the
// last thing that it returns. The key needs the scope admin.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	type page struct {
		Entries    []AuditEntry
		NextCursor string
	}
	query := url.Values{"limit": {"100"}}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return pages(query, func(query url.Values) ([]AuditEntry, string, error) {
		p, err := get[page](ctx, c, path("audit"), query)
		return p.Entries, p.NextCursor, err
	})
}
