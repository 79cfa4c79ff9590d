package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

const (
	// shareCookie remembers that a visitor knew the password of a share. Its path is the page's.
	shareCookie = "spool_share"
	// renewEvery is how often the page of a share, or of a video for some sites, gets other addresses. Those before live
	// much longer, in case it cannot do so for a while.
	renewEvery = 20 * time.Minute
	// maxForm is how many bytes a form with a password has at most.
	maxForm = 8 << 10
)

// sharePage answers GET /share/{secret}.
func (p *pages) sharePage(w http.ResponseWriter, r *http.Request) error {
	sh, err := p.shared(w, r)
	if err != nil {
		return err
	}
	if !p.unlocked(r, sh) {
		return p.askPassword(w, r, sh.Tenant, http.StatusOK, "")
	}
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	info, err := p.shares.Watch(r.Context(), sh, base)
	if err != nil {
		return err
	}
	if sh.HasPassword() {
		setShareCookie(w, base, sh, p.shares.Cookie(sh))
	}
	page := sharePage{Secret: sh.Secret, Download: sh.Download && bestFile(info) != ""}
	page.Card, err = p.shareCard(r, sh, info, base)
	if err != nil {
		return err
	}
	return p.servePage(w, r, info, pageKind{template: "share.html", root: "../", ancestors: noSite, cache: "private, no-store", renew: renewEvery, share: &page})
}

// sharePage is what the page of a share has beside others.
type sharePage struct {
	Secret   string
	Download bool  // offers the file
	Card     *card // what other sites show of it; nil: nothing
}

// shareCard returns what other sites show of a share. They keep what they have seen, so they get no more than what
// anybody may see.
func (p *pages) shareCard(r *http.Request, sh share.Share, info catalog.PlaybackInfo, base string) (*card, error) {
	if !info.Video.IsPublic || sh.HasPassword() {
		return nil, nil
	}
	public, err := p.catalog.Watch(r.Context(), info.Video.ID, base)
	if err != nil {
		return nil, err
	}
	return new(cardOf(public, base)), nil
}

// shared returns the share that a request asks for. Its address is a secret.
func (p *pages) shared(w http.ResponseWriter, r *http.Request) (share.Share, error) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	return p.shares.Find(r.Context(), r.PathValue("secret"))
}

// unlocked reports whether a visitor may see a share.
func (p *pages) unlocked(r *http.Request, sh share.Share) bool {
	cookie, err := r.Cookie(shareCookie)
	if err != nil {
		cookie = new(http.Cookie)
	}
	return p.shares.Unlocked(r.Context(), sh, cookie.Value)
}

// askPassword answers with a form, or tells a script that the page has to be loaded again.
func (p *pages) askPassword(w http.ResponseWriter, r *http.Request, tenant video.Tenant, status int, wrong string) error {
	if r.URL.Query().Has("state") {
		return &video.Error{Kind: video.Forbidden, Code: "password_required", Msg: "This link has a password."}
	}
	by, err := p.lookOf(r.Context(), tenant, "../")
	if err != nil {
		return err
	}
	data := struct {
		pageURLs
		Brand look
		Wrong string
	}{p.urls("../"), by, wrong}
	return p.write(w, r, status, pageKind{template: "password.html", ancestors: noSite, cache: "private, no-store", form: true}, data)
}

// unlock answers POST /share/{secret}, the form with the password.
func (p *pages) unlock(w http.ResponseWriter, r *http.Request) error {
	sh, err := p.shared(w, r)
	if err != nil {
		return err
	}
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	if err := fromOwnPage(r, base); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: "The form cannot be read.", Err: err}
	}
	if sh.HasPassword() {
		cookie, err := p.shares.Unlock(r.Context(), sh, p.Client(r), r.PostForm.Get("password"))
		if err != nil {
			return p.refusePassword(w, r, sh.Tenant, err)
		}
		setShareCookie(w, base, sh, cookie)
	}
	w.Header().Set("Location", sh.Secret) // relative: a proxy may have changed the path
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// refusePassword shows the form again.
func (p *pages) refusePassword(w http.ResponseWriter, r *http.Request, tenant video.Tenant, err error) error {
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Kind != video.Forbidden && e.Kind != video.RateLimited {
		return err
	}
	pr := problem.Of(r, err)
	for name, values := range pr.Headers() {
		w.Header()[name] = values
	}
	return p.askPassword(w, r, tenant, pr.Status, e.Msg)
}

// fromOwnPage refuses a form that another site sends in the name of a visitor.
func fromOwnPage(r *http.Request, base string) error {
	origins := http.NewCrossOriginProtection()
	if u, err := url.Parse(base); err == nil {
		_ = origins.AddTrustedOrigin(u.Scheme + "://" + u.Host) // a proxy may have changed the host; fails for no host
	}
	if err := origins.Check(r); err != nil {
		return &video.Error{Kind: video.Forbidden, Code: "cross_origin", Msg: "This form was sent by another site.", Err: err}
	}
	return nil
}

// setShareCookie has the browser send the proof back to this page, and to nothing else.
func setShareCookie(w http.ResponseWriter, base string, sh share.Share, value string) {
	path := sh.Path()
	u, err := url.Parse(base)
	if err == nil {
		path = strings.TrimSuffix(u.Path, "/") + path
	}
	http.SetCookie(w, &http.Cookie{
		Name: shareCookie, Value: value, Path: path, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: err == nil && u.Scheme == "https",
		MaxAge: int(share.CookieLife / time.Second),
	})
}

// shareDownload answers GET /share/{secret}/download. It leads to the largest file, at an address that is signed now.
func (p *pages) shareDownload(w http.ResponseWriter, r *http.Request) error {
	sh, err := p.shared(w, r)
	if err != nil {
		return err
	}
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	if !p.unlocked(r, sh) {
		w.Header().Set("Location", "../"+sh.Secret)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	info, err := p.shares.Watch(r.Context(), sh, base)
	if err != nil {
		return err
	}
	file := bestFile(info)
	if !sh.Download || file == "" {
		return &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "This link offers no download."}
	}
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", file+"?download=1")
	w.WriteHeader(http.StatusFound)
	return nil
}

// bestFile returns the address of the largest MP4 file; "" if none is ready.
func bestFile(info catalog.PlaybackInfo) (best string) {
	side := 0
	for _, r := range info.Resolutions {
		if short := min(r.Width, r.Height); r.Status == video.Ready && short > side {
			best, side = info.URLs.Resolutions[r.Name].Rendition, short
		}
	}
	return best
}
