package signin

import "net/http"

// SessionCookie is the name of the cookie with the secret of a session, FlowCookie of the one that a browser keeps while its
// user is at the provider. Where there is https, other hosts of the domain cannot set them (__Host-).
func SessionCookie(secure bool) string { return cookieName("spool_session", secure) }

// FlowCookie is described with SessionCookie.
func FlowCookie(secure bool) string { return cookieName("spool_signin", secure) }

func cookieName(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

// Cookie returns a cookie that scripts cannot read. It is sent with links that lead here, and not with what other sites request.
// An empty value removes it.
func Cookie(name, value string, secure bool, seconds int) *http.Cookie {
	if value == "" {
		seconds = -1
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, MaxAge: seconds}
}
