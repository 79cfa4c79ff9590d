package pages

import (
	"net/http"
	"net/netip"
	"regexp"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/video"
)

// fragment is the part of the console's address that a sign-in may lead back to. A browser never leaves this server for it.
var fragment = regexp.MustCompile(`^#/[A-Za-z0-9/_.~%?&=+:,-]{0,1000}$`)

// signInProvider answers GET /signin/provider: the console asks whether there is one.
func (p *pages) signInProvider(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, r, map[string]string{"name": p.SignIn.Provider()}, "no-store")
}

// signIn answers GET /signin?to=FRAGMENT. It sends a browser to the provider.
func (p *pages) signIn(w http.ResponseWriter, r *http.Request) error {
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	to := r.URL.Query().Get("to")
	if !fragment.MatchString(to) {
		to = ""
	}
	address, cookie, err := p.SignIn.Begin(r.Context(), base, to)
	if err != nil {
		return err
	}
	secure := p.Secure(r)
	http.SetCookie(w, signin.Cookie(signin.FlowCookie(secure), cookie, secure, int(signin.FlowLife.Seconds())))
	redirect(w, address)
	return nil
}

// signedIn answers GET /signin/callback, to which the provider sends a browser back.
func (p *pages) signedIn(w http.ResponseWriter, r *http.Request) error {
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	secure, query := p.Secure(r), r.URL.Query()
	back := signin.Return{State: query.Get("state"), Code: query.Get("code"), Issuer: query.Get("iss"), Error: query.Get("error")}
	if cookie, err := r.Cookie(signin.FlowCookie(secure)); err == nil {
		back.Cookie = cookie.Value
	}
	http.SetCookie(w, signin.Cookie(signin.FlowCookie(secure), "", secure, 0))
	secret, to, err := p.SignIn.Finish(r.Context(), base, back, p.from(r))
	if err != nil {
		return err
	}
	http.SetCookie(w, signin.Cookie(signin.SessionCookie(secure), secret, secure, int(signin.Life.Seconds())))
	redirect(w, base+"/"+to)
	return nil
}

// useLink answers GET /signin/link/{secret}, the link of a first start. It is for this machine: the secret was printed here.
func (p *pages) useLink(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet || !fromThisMachine(r) { // HEAD would use the link up
		return &video.Error{Kind: video.Forbidden, Code: "link_elsewhere", Msg: "This link works only on the machine that printed it. Enter the API key instead."}
	}
	secret, err := p.SignIn.UseLink(r.Context(), r.PathValue("secret"), p.from(r))
	if err != nil {
		return err
	}
	secure := p.Secure(r)
	http.SetCookie(w, signin.Cookie(signin.SessionCookie(secure), secret, secure, int(signin.Life.Seconds())))
	redirect(w, "../../")
	return nil
}

// fromThisMachine reports whether a request comes from this machine, and not through a proxy on it.
func fromThisMachine(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

func (p *pages) from(r *http.Request) signin.From {
	return signin.From{Client: limit.AddressOf(r, p.TrustedProxies), Browser: r.UserAgent()}
}

// redirect sends a browser on. Nothing about it is kept.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
