package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/video"
)

// sessionRoutes are the people who are signed in.
type sessionRoutes struct{ people *signin.Service }

func (r sessionRoutes) register(t *table) {
	id := []*huma.Param{pathID("The id of the session.")}
	add(t, operation{
		id: "listSessions", route: "GET /api/session", summary: "List who is signed in", tag: "tenant",
		notes:  "The browsers in which people work in your tenant, newest first. Keys of the operator's tenant see all.",
		scopes: []auth.Scope{auth.Admin}, status: 200, parameters: described(new(page).parameters("sessions", "the newest sessions")),
	}, r.list)
	addWithBody(t, operation{
		id: "chooseTenant", route: "PATCH /api/session/{id}", summary: "Work in another tenant", tag: "tenant",
		notes: "Only somebody who is signed in can do this, for their own session.", status: 200, parameters: id, errors: []int{404, 413, 415},
	}, r.choose)
	add(t, operation{
		id: "endSession", route: "DELETE /api/session/{id}", summary: "Sign out, or end the session of another person", tag: "tenant",
		notes: "People end their own session without any scope. It takes the scope admin to end another one.", status: 200, parameters: id, errors: []int{404},
	}, r.end)
}

// sessionView is a browser in which somebody is signed in.
type sessionView struct {
	ID        string        `json:"id" format:"uuid"`
	Person    sessionPerson `json:"person"`
	Tenant    video.Tenant  `json:"tenant" doc:"In which the person works."`
	CreatedAt time.Time     `json:"createdAt"`
	ExpiresAt time.Time     `json:"expiresAt"`
	Address   string        `json:"address" doc:"The IP address of the sign-in."`
	Browser   string        `json:"browser" doc:"What the browser calls itself."`
	Current   bool          `json:"current" doc:"It is the session that makes this request."`
}

// sessionPerson is who is signed in.
type sessionPerson struct {
	ID   string `json:"id" doc:"The e-mail address or, where the provider does not vouch for one, its id of the person. Of the link of the first start: the id of the key."`
	Name string `json:"name"`
}

type sessionList struct {
	Sessions   []sessionView `json:"sessions" nullable:"false"`
	NextCursor string        `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

func (r sessionRoutes) list(ctx context.Context, c *call) (*sessionList, error) {
	p := newPage()
	if err := c.query(p.parameters("sessions", "the newest sessions")); err != nil {
		return nil, err
	}
	found, err := r.people.List(ctx, c.actor, p.after, p.limit)
	if err != nil {
		return nil, err
	}
	out := &sessionList{Sessions: make([]sessionView, len(found.Sessions)), NextCursor: nextCursor(found.Next)}
	for i, s := range found.Sessions {
		person := sessionPerson{s.Person.ID(), s.Person.Name}
		if s.KeyID != "" {
			person = sessionPerson{s.KeyID, "Link of the first start"}
		}
		out.Sessions[i] = sessionView{ID: s.ID, Person: person, Tenant: s.Tenant, CreatedAt: s.CreatedAt.UTC(), ExpiresAt: s.ExpiresAt.UTC(),
			Address: s.Client, Browser: s.Browser, Current: s.ID == c.actor.Session}
	}
	return out, nil
}

// tenantChoice is the body of a request to work in another tenant.
type tenantChoice struct {
	Tenant video.Tenant `json:"tenant" minLength:"1" maxLength:"100" doc:"One of the tenants that getKey lists."`
}

func (r sessionRoutes) choose(ctx context.Context, c *call, in *tenantChoice) (*nothing, error) {
	return nil, r.people.Choose(ctx, c.actor, string(c.id), in.Tenant)
}

func (r sessionRoutes) end(ctx context.Context, c *call) (*nothing, error) {
	if err := r.people.End(ctx, c.actor, string(c.id)); err != nil {
		return nil, err
	}
	if string(c.id) == c.actor.Session {
		secure := c.api.Secure(c.request)
		http.SetCookie(c.writer, signin.Cookie(signin.SessionCookie(secure), "", secure, 0))
	}
	return nil, nil
}

// keySession is the session that makes a request.
type keySession struct {
	ID        string         `json:"id" format:"uuid" doc:"For endSession."`
	Name      string         `json:"name" doc:"Of the person."`
	ExpiresAt time.Time      `json:"expiresAt"`
	Tenants   []video.Tenant `json:"tenants" nullable:"false" doc:"In which the person may work; see chooseTenant."`
}

// sessionOf returns the session that makes a request; nil: it was made with a key.
func (r keyRoutes) sessionOf(ctx context.Context, c *call) (*keySession, error) {
	if c.actor.Session == "" {
		return nil, nil
	}
	mine, tenants, err := r.people.Mine(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	return &keySession{ID: mine.ID, Name: c.actor.Name, ExpiresAt: mine.ExpiresAt.UTC(), Tenants: tenants}, nil
}
