package pages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/player"
	"github.com/spool-video/spool/internal/web/problem"
)

// Which sites may show a page in a frame.
const (
	noSite  = "'none'"
	anySite = "*"
)

// watch answers GET /watch/{id}.
func (p *pages) watch(w http.ResponseWriter, r *http.Request) error {
	info, err := p.public(r)
	if err != nil {
		return err
	}
	return p.servePage(w, r, info, pageKind{template: "watch.html", root: "../", ancestors: noSite, cache: publicCache(info), renew: renewal(info)})
}

// embedPublic answers GET /embed/{id}.
func (p *pages) embedPublic(w http.ResponseWriter, r *http.Request) error {
	info, err := p.public(r)
	if err != nil {
		return err
	}
	return p.servePage(w, r, info, pageKind{template: "embed.html", root: "../", ancestors: framedBy(info), cache: publicCache(info), renew: renewal(info)})
}

// embedPrivate answers GET /embed/{token}/{id}.
func (p *pages) embedPrivate(w http.ResponseWriter, r *http.Request) error {
	base, id, err := p.requestedVideo(r)
	if err != nil {
		return err
	}
	info, err := p.catalog.Embed(r.Context(), r.PathValue("token"), id, base)
	if err != nil {
		return err
	}
	return p.servePage(w, r, info, pageKind{template: "embed.html", root: "../../", ancestors: framedBy(info), cache: "no-store"})
}

// public returns the public video that a request asks for.
func (p *pages) public(r *http.Request) (catalog.PlaybackInfo, error) {
	base, id, err := p.requestedVideo(r)
	if err != nil {
		return catalog.PlaybackInfo{}, err
	}
	return p.catalog.Watch(r.Context(), id, base)
}

func (p *pages) requestedVideo(r *http.Request) (base string, id video.ID, err error) {
	if base, err = p.Base(r); err != nil {
		return "", "", err
	}
	if id, err = video.ParseID("id", r.PathValue("id")); err != nil {
		return "", "", video.VideoNotFound()
	}
	return base, id, nil
}

// publicCache lets caches hold the page of a finished video for a moment. A deletion must be noticed,
// and the video itself is gone at once.
func publicCache(info catalog.PlaybackInfo) string {
	if !info.Settled || info.Video.Restricted() { // of the latter, the page has addresses for itself
		return "no-store"
	}
	return "public, max-age=30"
}

// renewal returns when the page of a public video has to ask for other addresses.
func renewal(info catalog.PlaybackInfo) time.Duration {
	if info.Video.Restricted() {
		return renewEvery
	}
	return 0
}

// framedBy returns which sites may show the player of a video in a frame.
func framedBy(info catalog.PlaybackInfo) string {
	if !info.Video.Restricted() {
		return anySite
	}
	all := []string{"'self'"}
	for _, site := range info.Video.Sites() {
		all = append(all, site.Source())
	}
	return strings.Join(all, " ")
}

// pageKind is what distinguishes the pages with a video.
type pageKind struct {
	template  string
	root      string // the relative URL of /
	ancestors string // who may show it in a frame
	cache     string
	form      bool          // has one
	renew     time.Duration // when its script asks for other addresses; 0: they live long enough
	share     *sharePage    // nil: another page
}

// servePage answers with a page, or with the state of its video.
func (p *pages) servePage(w http.ResponseWriter, r *http.Request, info catalog.PlaybackInfo, k pageKind) error {
	s := stateOf(info)
	if r.URL.Query().Has("state") {
		return writeJSON(w, r, s, "no-store")
	}
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	by, err := p.lookOf(r.Context(), info.Video.Tenant, k.root)
	if err != nil {
		return err
	}
	page := pageData{
		pageURLs: p.urls(k.root), Brand: by, State: s, Title: info.Video.Title, Options: parseOptions(r.URL.Query()),
		Card: cardOf(info, base), ID: string(info.Video.ID),
		Plays: p.plays(k.root, info), Framed: k.template == "embed.html", Eager: k.ancestors == noSite, // a site may show many players
		Renew: int(k.renew / time.Second), Share: k.share,
	}
	if info.Video.IsPublic && k.share == nil {
		w.Header().Set("Link", "<"+page.Card.OEmbed+`>; rel="alternate"; type="application/json+oembed"`)
	}
	return p.write(w, r, http.StatusOK, k, page)
}

// plays returns the relative URL to which the player of a page tells what is watched.
func (p *pages) plays(root string, info catalog.PlaybackInfo) string {
	if !p.Counted {
		return ""
	}
	return root + "api/play/" + string(info.Video.ID)
}

// pageURLs are the relative URLs of what every page loads.
type pageURLs struct {
	Root        string // of /
	Player      string
	MediaChrome string
	HLS         string
	Script      string
	Style       string
	Tokens      string // the design that all pages share
	Icon        string
}

// Brand is Spool's, on pages of no tenant.
func (u pageURLs) Brand() look { return look{Name: usualName, URL: u.Root} }

func (p *pages) urls(root string) pageURLs {
	return pageURLs{
		Root: root, Player: root + p.player.Path(player.Entry), MediaChrome: root + p.player.Path("media-chrome.js"), HLS: root + p.player.Path("hls.js"),
		Script: root + p.own.Path("page.js"), Style: root + p.own.Path("page.css"), Tokens: root + p.own.Path("tokens.css"), Icon: root + p.own.Path("icon.svg"),
	}
}

type pageData struct {
	pageURLs
	Brand   look
	State   state
	Options playerOptions
	Card    card
	Title   string
	ID      string
	Plays   string // the relative URL for reports of what is watched; "": nothing is told
	Framed  bool   // is shown in pages of other sites, where the player has to say what it shows
	Eager   bool   // loads the beginning before anybody presses play
	Renew   int    // seconds after which the script asks for other addresses; 0: never
	Share   *sharePage
}

// write sends a page.
func (p *pages) write(w http.ResponseWriter, r *http.Request, status int, k pageKind, data any) error {
	var body bytes.Buffer
	if err := p.templates.ExecuteTemplate(&body, k.template, data); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	policy, referrer := p.policy, "no-referrer" // the URL of an embed page is a secret
	if k.form {                                 // without a referrer, browsers would not say where the form comes from
		policy, referrer = strings.Replace(policy, "form-action 'none'", "form-action 'self'", 1), "same-origin"
	}
	h.Set("Content-Security-Policy", policy+k.ancestors)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", referrer)
	h.Set("Cache-Control", k.cache)
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes()) // fails if the client has disconnected
	}
	return nil
}

func writeJSON(w http.ResponseWriter, r *http.Request, v any, cache string) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", cache)
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n')) // fails if the client has disconnected
	}
	return nil
}

// refuse answers with a page that says what is wrong, or, to a script, with a problem.
func (p *pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	signIn := strings.HasPrefix(r.URL.Path, "/signin")
	if r.URL.Query().Has("state") && !signIn { // which a provider sends as well
		problem.Write(w, r, err)
		return
	}
	pr := problem.Of(r, err)
	for name, values := range pr.Headers() {
		w.Header()[name] = values
	}
	root, ancestors := strings.Repeat("../", strings.Count(r.URL.Path, "/")-1), noSite
	if strings.HasPrefix(r.URL.Path, "/embed/") {
		ancestors = anySite
	}
	data := struct {
		pageURLs
		refusal
		Embedded  bool
		RequestID string
		Back      string // "": there is nowhere to go
	}{p.urls(root), refusalOf(pr), ancestors == anySite, pr.RequestID, ""}
	if signIn {
		data.refusal, data.Back = refusal{"You are not signed in", pr.Detail}, root
	}
	k := pageKind{template: "refused.html", root: root, ancestors: ancestors, cache: "no-store"}
	if err := p.write(w, r, pr.Status, k, data); err != nil {
		problem.Write(w, r, err)
	}
}

// refusal is a problem in the words of people who watch videos.
type refusal struct{ Heading, Advice string }

func refusalOf(p *problem.Problem) refusal {
	switch {
	case p.Code == "url_expired":
		return refusal{"This link has expired", "Links to private videos work for a limited time. Reload the page that you came from, or ask the person who sent you the link for a new one."}
	case p.Status == http.StatusGone:
		return refusal{"This link has expired", "Ask the person who sent it to you for a new one."}
	case p.Code == "share_not_found":
		return refusal{"This link does not work", "It was deleted, or is incomplete. Check that you copied all of it, or ask the person who sent it to you."}
	case p.Status == http.StatusForbidden:
		return refusal{"This link does not work", "It is incomplete or was changed. Check that you copied all of it, or ask for it again."}
	case p.Status == http.StatusNotFound:
		return refusal{"There is no such video", "It was deleted, it is private, or the link has a mistake."}
	case p.Status == http.StatusTooManyRequests:
		return refusal{"A moment, please", "Many requests come from your network right now. Try again in a few seconds."}
	default:
		return refusal{"This did not work", "The server has a problem. Try again in a minute."}
	}
}
