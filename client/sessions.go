package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Session is a browser in which somebody is signed in.
type Session struct {
	ID        string    `json:"id"`
	Person    Person    `json:"person"`
	Tenant    string    `json:"tenant"` // in which the person works
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	Address   string    `json:"address"` // of the sign-in
	Browser   string    `json:"browser"` // what it calls itself
	Current   bool      `json:"current"`
}

// Person is who is signed in.
type Person struct {
	ID   string `json:"id"` // usually the e-mail address
	Name string `json:"name"`
}

// Sessions returns who is signed in, newest first. It asks for one page after the other. An error is the last thing that it
// returns. The key needs the scope admin.
func (c *Client) Sessions(ctx context.Context) iter.Seq2[Session, error] {
	type page struct {
		Sessions   []Session
		NextCursor string
	}
	return pages(url.Values{"limit": {"100"}}, func(query url.Values) ([]Session, string, error) {
		p, err := get[page](ctx, c, path("session"), query)
		return p.Sessions, p.NextCursor, err
	})
}

// EndSession signs somebody out.
func (c *Client) EndSession(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("session", id), gone: true}, nil)
	return err
}
