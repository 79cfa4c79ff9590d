package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/video"
)

// credential is what a request is made with.
type credential struct {
	secret string // "": nothing
	cookie bool   // it is the secret of a session, not a key
}

// credentialOf returns the key of a request or, if it has none, its session. A key goes first: a program that sends one must
// never act for the person whose browser it runs in.
func (a *API) credentialOf(r *http.Request) credential {
	if key := r.Header.Get(headerKey); key != "" {
		return credential{secret: key}
	}
	c, err := r.Cookie(signin.SessionCookie(a.Secure(r)))
	if err != nil || c.Value == "" {
		return credential{}
	}
	return credential{c.Value, true}
}

// actorOf returns who a credential is of.
func (a *API) actorOf(r *http.Request, c credential) (auth.Actor, error) {
	if !c.cookie {
		return a.services.Keys.Authenticate(r.Context(), c.secret)
	}
	if err := a.checkOrigin(r); err != nil {
		return auth.Actor{}, err
	}
	return a.services.SignIn.Authenticate(r.Context(), c.secret)
}

// checkOrigin refuses requests that pages of other origins make, since a browser sends the cookie with them, too. Reads are
// judged like changes.
func (a *API) checkOrigin(r *http.Request) error {
	asChange := r.Clone(r.Context())
	asChange.Method = http.MethodPost // reads are not looked at otherwise
	if err := a.origins.Check(asChange); err != nil {
		return &video.Error{Kind: video.Forbidden, Code: "cross_origin", Msg: "This request was made by a page of another site.", Err: err}
	}
	return nil
}

// newOrigins returns the check of checkOrigin.
func newOrigins(base string) *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		_ = p.AddTrustedOrigin(u.Scheme + "://" + u.Host) // a proxy may have changed the host; it fails for no host
	}
	return p
}

// Secure reports whether a browser that made r uses https, so that cookies are for https alone. On this machine it may use
// http although others do not.
func (a *API) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	base, err := a.config.base(r)
	return err == nil && strings.HasPrefix(base, "https://") && !isLoopback(r.Host)
}

// isLoopback reports whether a host, with or without a port, is this machine as it calls itself.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// sessionPrefix tells the ID of a session from the ID of a key.
const sessionPrefix = "session/"

// openedWith names the key or the session of an actor, whose end ends their event streams.
func openedWith(by auth.Actor) string {
	if by.Session != "" {
		return sessionPrefix + by.Session
	}
	return by.KeyID
}

// valid reports which keys and sessions still open streams.
func (s *Services) valid(ctx context.Context, ids []string) (map[string]bool, error) {
	var keys, sessions []string
	for _, id := range ids {
		if session, ok := strings.CutPrefix(id, sessionPrefix); ok {
			sessions = append(sessions, session)
		} else {
			keys = append(keys, id)
		}
	}
	all := map[string]bool{}
	if len(keys) > 0 {
		valid, err := s.Keys.Valid(ctx, keys)
		if err != nil {
			return nil, err
		}
		all = valid
	}
	if len(sessions) > 0 {
		valid, err := s.SignIn.Valid(ctx, sessions)
		if err != nil {
			return nil, err
		}
		for id, ok := range valid {
			all[sessionPrefix+id] = ok
		}
	}
	return all, nil
}

// dropCookie removes the cookie of a session that has ended.
func (a *API) dropCookie(w http.ResponseWriter, r *http.Request, err error) {
	if e, ok := errors.AsType[*video.Error](err); ok && e.Code == signin.Ended {
		secure := a.Secure(r)
		http.SetCookie(w, signin.Cookie(signin.SessionCookie(secure), "", secure, 0))
	}
}
