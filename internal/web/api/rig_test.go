package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

const (
	testID       = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	resolutionID = "0198c5b6-7d5e-7c3a-9b1e-aaaaaaaaaaaa"
	validDraft   = `{"filename":"a.mp4","resolutions":["720p","144p"],"isPublic":true}`
)

// rig is the API on real services, a real database and a clock that the test turns.
type rig struct {
	*servicetest.Rig
	webhooks *webhook.Service
	api      *API
	handler  http.Handler // as the server wires it
	key      string       // has all scopes
}

// newRig returns a rig whose API has these settings.
func newRig(t *testing.T, c Config, options ...func(*servicetest.Config)) *rig {
	t.Helper()
	speaks := func(c *servicetest.Config) { c.Speech = speech.Config{Transcriber: true, Translator: true} }
	r := &rig{Rig: servicetest.New(t, append([]func(*servicetest.Config){speaks}, options...)...)}
	guard, err := outbound.NewGuard()
	r.Must(err)
	r.webhooks = webhook.New(r.Store, r.Queue, guard, WebhookBody, r.Now, webhook.Config{})
	disk := func() (system.Disk, error) { return system.Disk{Free: 1 << 30, Size: 1 << 40}, nil }
	r.api = New(Services{
		Keys: r.Keys, Catalog: r.Catalog, Uploads: r.Uploads, Deleter: r.Deleter, Tenants: r.Tenants, Webhooks: r.webhooks,
		Tokens: r.Tokens, Captions: r.Captions, Sound: r.Sound, Chapters: r.Chapters, Speech: r.Speech, Watermarks: r.Watermarks, Pictures: r.Pictures, Player: r.Player, Shares: r.Shares, Audience: r.Audience, Audit: audit.New(r.Store, r.Now), SignIn: r.SignIn, System: system.New("1.2.3", r.Store, r.Queue, disk),
	}, c)
	mux := http.NewServeMux()
	r.api.Register(mux)
	r.handler = problem.RequestID(slog.New(slog.DiscardHandler), problem.Recover(r.api.InFrontOf(problem.Mux(mux))))
	r.key = r.newKey()
	return r
}

// newKey makes a key with these scopes, or with all, and returns its secret.
func (r *rig) newKey(scopes ...auth.Scope) string {
	r.T.Helper()
	secret, _, err := r.Keys.Create(r.T.Context(), auth.Key{Scopes: scopes})
	r.Must(err)
	return secret
}

// newKeyOf makes a key of another tenant, and returns its secret.
func (r *rig) newKeyOf(tenant video.Tenant) string {
	r.T.Helper()
	secret, _, err := r.Keys.Create(r.T.Context(), auth.Key{Tenant: tenant})
	r.Must(err)
	return secret
}

// send sends a request with a key that has all scopes, unless it has another.
func (r *rig) send(q *http.Request) *httptest.ResponseRecorder {
	if _, has := q.Header[http.CanonicalHeaderKey(headerKey)]; !has {
		q.Header.Set(headerKey, r.key)
	}
	return do(r.handler, q)
}

// ask sends a request; a body is sent as JSON.
func (r *rig) ask(method, path, body string) *httptest.ResponseRecorder {
	return r.send(request(method, path, body))
}

// askAs is ask with another key.
func (r *rig) askAs(key, method, path, body string) *httptest.ResponseRecorder {
	q := request(method, path, body)
	q.Header.Set(headerKey, key)
	return r.send(q)
}

// decode decodes the JSON of an answer.
func (r *rig) decode(w *httptest.ResponseRecorder, into any) {
	r.T.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		r.T.Fatalf("the answer %d %s is no JSON: %v", w.Code, w.Body, err)
	}
}

// request returns a request without a key; a body is sent as JSON.
func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wire returns v as it is sent.
func wire(t *testing.T, v any) string {
	t.Helper()
	body, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

func testVideo(public bool, status video.Status, names ...video.Name) video.Video {
	v := video.Video{
		ID: testID, Filename: "a.mp4", Title: "A film", ContentType: "video/mp4", IsPublic: public, Status: status,
		CreatedAt:       time.Date(2030, 1, 2, 12, 0, 0, 0, time.FixedZone("CET", 3600)),
		UploadExpiresAt: time.Date(2030, 1, 2, 13, 0, 0, 0, time.FixedZone("CET", 3600)),
	}
	for _, n := range names {
		v.Resolutions = append(v.Resolutions, video.Resolution{ID: resolutionID, VideoID: testID, Name: n, Status: status})
	}
	return v
}

// wantProblem checks that w is a problem with this status and code.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, code string) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("answer %d is not a problem: %v: %q", w.Code, err, w.Body)
	}
	if ct := w.Header().Get("Content-Type"); ct != problem.ContentType {
		t.Errorf("Content-Type is %q", ct)
	}
	if w.Code != status || p.Status != status || p.Code != code {
		t.Errorf("answer is %d %s, want %d %s: %s", w.Code, p.Code, status, code, w.Body)
	}
	if p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("request id is %q in the body, %q in the header", p.RequestID, w.Header().Get("X-Request-Id"))
	}
	if got := w.Header().Values("Cache-Control"); len(got) != 1 || got[0] != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	if got := w.Header().Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options is %q, want nosniff", got)
	}
	return p
}

// faultWords returns the faults of a problem as "field code".
func faultWords(p problem.Problem) (words []string) {
	for _, f := range p.Errors {
		words = append(words, f.Field+" "+f.Code)
	}
	return words
}

// stills makes real pictures.
var stills = sync.OnceValue(func() *still.Maker {
	box, err := sandbox.Open(sandbox.On, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	run, err := ffmpeg.New(context.Background(), ffmpeg.Config{Sandbox: box})
	if err != nil {
		panic(err)
	}
	return still.NewMaker(run)
})

// tinyPNG is a picture of 2 × 2 pixels.
var tinyPNG = func() string {
	var b strings.Builder
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		panic(err)
	}
	return b.String()
}()

// scene is one of everything that operations are for.
type scene struct {
	*rig
	ids map[string]string // by the placeholder in the path of an operation

	cookie *http.Cookie // of somebody who is signed in
}

// signedIn are settings with which people can sign in.
var signedIn = signin.Config{Policy: signin.Policy{Issuer: "https://id.example.com", Admins: []string{"boss@example.com"}, Claim: "groups"}}

// admit signs in a person whose groups grant this, and returns the cookie and what the API says about them.
func (r *rig) admit(address string, granted ...string) (*http.Cookie, keyView) {
	r.T.Helper()
	who := signin.Person{Issuer: signedIn.Issuer, Subject: "id", Address: address, Name: "Name", Claim: "groups", Granted: granted}
	secret, err := r.SignIn.Admit(r.T.Context(), who, signin.From{Client: "192.0.2.1", Browser: "Browser"}, rand.Text())
	r.Must(err)
	cookie := signin.Cookie(signin.SessionCookie(false), secret, false, 60)
	var me keyView
	r.decode(r.askWith(cookie, "GET", "/api/key", ""), &me)
	return cookie, me
}

// askWith is ask with a cookie instead of a key.
func (r *rig) askWith(cookie *http.Cookie, method, path, body string) *httptest.ResponseRecorder {
	q := request(method, path, body)
	q.AddCookie(cookie)
	return do(r.handler, q)
}

// request returns the request of an operation.
func (s *scene) request(name, method, path, body string) *http.Request {
	q := request(method, s.fill(path), s.fill(body))
	switch {
	case strings.HasPrefix(body, "WEBVTT"):
		q.Header.Set("Content-Type", "text/vtt")
	case name == "add audio":
		q.Header.Set("Content-Type", "audio/mpeg")
	case body == tinyPNG:
		q.Header.Set("Content-Type", "image/png")
	case name == "choose tenant": // which no key can
		q.AddCookie(s.cookie)
		q.Header[http.CanonicalHeaderKey(headerKey)] = nil
	}
	return q
}

// newScene returns a scene. Its public video has captions, and its webhook an event that was fetched.
func newScene(t *testing.T, c Config) *scene {
	t.Helper()
	r := newRig(t, c, func(c *servicetest.Config) { c.MaxImports, c.Stills, c.SignIn = 1, stills(), signedIn })
	public := r.Ready(servicetest.Plan("720p", "240p"))
	private := r.Processing(video.Draft{Filename: "film.mp4", Thumbnails: []float64{1}, Metadata: json.RawMessage(`{"a":1}`)})
	failed := r.Create(video.Draft{}).Video
	if w := r.ask("POST", "/api/video/"+string(failed.ID)+"/complete-upload", ""); w.Code != http.StatusUnprocessableEntity {
		t.Fatalf("completing nothing is answered %d", w.Code)
	}
	pending := r.Create(video.Draft{}) // has a file
	r.Put(pending, servicetest.LikeVideo)
	captions := request("PUT", "/api/video/"+string(public.ID)+"/captions/en", "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")
	captions.Header.Set("Content-Type", "text/vtt")
	if w := r.send(captions); w.Code != http.StatusCreated {
		t.Fatalf("captions are answered %d %s", w.Code, w.Body)
	}
	s := &scene{rig: r, ids: map[string]string{
		"{public}": string(public.ID), "{private}": string(private.ID), "{failed}": string(failed.ID), "{pending}": string(pending.Video.ID),
		"{resolution}": string(public.Resolutions[1].ID),
	}}
	s.make("{imported}", "id", "POST", "/api/video", `{"filename":"a.mp4","resolutions":["720p"],"isPublic":true,"sourceUrl":"https://1.1.1.1/a.mp4"}`)
	s.make("{share}", "id", "POST", "/api/video/"+string(private.ID)+"/share", "{}")
	s.make("{key}", "id", "POST", "/api/key", `{"name":"site"}`)
	mark, err := r.Watermarks.Add(t.Context(), r.By, "", watermarks.Picture{PNG: []byte(tinyPNG), Width: 2, Height: 2})
	r.Must(err)
	s.ids["{watermark}"] = string(mark.ID)
	cookie, me := r.admit("boss@example.com")
	s.cookie, s.ids["{mine}"] = cookie, me.Session.ID
	_, me = r.admit("boss@example.com")
	s.ids["{session}"] = me.Session.ID
	s.ids["{track}"] = s.addTrack(string(public.ID))
	s.make("{webhook}", "id", "POST", "/api/webhook", `{"pull":true}`)
	s.ask("POST", s.fill("/api/webhook/{webhook}/test"), "")
	var fetched struct {
		Events []struct{ DeliveryID, Receipt string }
	}
	r.decode(s.ask("POST", s.fill("/api/webhook/{webhook}/fetch"), ""), &fetched)
	s.ids["{delivery}"], s.ids["{receipt}"] = fetched.Events[0].DeliveryID, fetched.Events[0].Receipt
	return s
}

// make makes something and keeps its id.
func (s *scene) make(placeholder, field, method, path, body string) {
	s.T.Helper()
	var made map[string]any
	s.decode(s.ask(method, path, body), &made)
	s.ids[placeholder] = made[field].(string)
}

// fill replaces the placeholders in a path or a body.
func (s *scene) fill(text string) string {
	for placeholder, id := range s.ids {
		text = strings.ReplaceAll(text, placeholder, id)
	}
	return text
}

// everyOperation has a request for each operation on a scene, in an order in which all succeed, and says where in
// the description it is.
var everyOperation = []struct {
	name, method, path, body string
	described                string
	status                   int
}{
	{"create", "POST", "/api/video", validDraft, "/api/video", 201},
	{"list", "GET", "/api/video", "", "/api/video", 200},
	{"tags", "GET", "/api/tag", "", "/api/tag", 200},
	{"state", "GET", "/api/video/{private}", "", "/api/video/{id}", 200},
	{"events", "GET", "/api/video/{public}/events", "", "/api/video/{id}/events", 200},
	{"complete", "POST", "/api/video/{pending}/complete-upload", "", "/api/video/{id}/complete-upload", 201},
	{"import", "POST", "/api/video/{imported}/import", "", "/api/video/{id}/import", 200},
	{"replace", "POST", "/api/video/{public}/replace", `{"filename":"b.mp4"}`, "/api/video/{id}/replace", 201},
	{"give up replace", "DELETE", "/api/video/{public}/replace", "", "/api/video/{id}/replace", 200},
	{"public", "GET", "/api/video/{public}/public", "", "/api/video/{id}/public", 200},
	{"private", "GET", "/api/video/{private}/private/60", "", "/api/video/{id}/private/{expirationSeconds}", 200},
	{"report", "GET", "/api/video/{public}/report", "", "/api/video/{id}/report", 200},
	{"edit", "PATCH", "/api/video/{failed}", `{"title":"A title"}`, "/api/video/{id}", 200},
	{"edit many", "PATCH", "/api/video", `{"ids":["{failed}","{public}"],"tags":{"add":["a"]}}`, "/api/video", 200},
	{"token", "POST", "/api/video/{failed}/token", `{"expiresIn":60}`, "/api/video/{id}/token", 201},
	{"original", "POST", "/api/video/{private}/original", `{"expiresIn":60}`, "/api/video/{id}/original", 200},
	{"share", "POST", "/api/video/{private}/share", `{"label":"Press","expiresAt":"2099-01-01T00:00:00Z"}`, "/api/video/{id}/share", 201},
	{"list shares", "GET", "/api/video/{private}/share", "", "/api/video/{id}/share", 200},
	{"delete share", "DELETE", "/api/video/{private}/share/{share}", "", "/api/video/{id}/share/{shareId}", 200},
	{"add resolution", "POST", "/api/video/{public}/resolutions", `{"resolution":"144p"}`, "/api/video/{id}/resolutions", 201},
	{"retry resolution", "POST", "/api/video/resolution/{resolution}/retry", "", "/api/video/resolution/{id}/retry", 200},
	{"put captions", "PUT", "/api/video/{public}/captions/de", "WEBVTT\n\n00:00.000 --> 00:01.000\nHallo\n", "/api/video/{id}/captions/{language}", 201},
	{"replace captions", "PUT", "/api/video/{public}/captions/de", "WEBVTT\n\n00:00.000 --> 00:01.000\nWelt\n", "/api/video/{id}/captions/{language}", 200},
	{"put chapters", "PUT", "/api/video/{public}/chapters", `{"chapters":[{"startSeconds":0,"title":"One"}]}`, "/api/video/{id}/chapters", 200},
	{"delete chapters", "DELETE", "/api/video/{public}/chapters", "", "/api/video/{id}/chapters", 200},
	{"transcribe", "POST", "/api/video/{public}/transcribe", "", "/api/video/{id}/transcribe", 202},
	{"translate captions", "POST", "/api/video/{public}/captions/en/translate", `{"to":["fr"]}`, "/api/video/{id}/captions/{language}/translate", 202},
	{"delete captions", "DELETE", "/api/video/{public}/captions/en", "", "/api/video/{id}/captions/{language}", 200},
	{"add audio", "POST", "/api/video/{public}/audio?language=fr", "some sound", "/api/video/{id}/audio", 201},
	{"change audio", "PATCH", "/api/video/{public}/audio/{track}", `{"label":"German"}`, "/api/video/{id}/audio/{trackId}", 200},
	{"delete audio", "DELETE", "/api/video/{public}/audio/{track}", "", "/api/video/{id}/audio/{trackId}", 200},
	{"put poster", "PUT", "/api/video/{public}/poster", tinyPNG, "/api/video/{id}/poster", 200},
	{"delete poster", "DELETE", "/api/video/{public}/poster", "", "/api/video/{id}/poster", 200},
	{"add watermark", "POST", "/api/watermark?name=Logo", tinyPNG, "/api/watermark", 201},
	{"list watermarks", "GET", "/api/watermark", "", "/api/watermark", 200},
	{"delete watermark", "DELETE", "/api/watermark/{watermark}", "", "/api/watermark/{id}", 200},
	{"audience", "GET", "/api/audience", "", "/api/audience", 200},
	{"audience of a video", "GET", "/api/video/{public}/audience", "", "/api/video/{id}/audience", 200},
	{"usage", "GET", "/api/usage", "", "/api/usage", 200},
	{"tenants", "GET", "/api/tenant", "", "/api/tenant", 200},
	{"system", "GET", "/api/system", "", "/api/system", 200},
	{"key", "GET", "/api/key", "", "/api/key", 200},
	{"create key", "POST", "/api/key", `{"name":"site","scopes":["read"],"expiresIn":60}`, "/api/key", 201},
	{"revoke key", "DELETE", "/api/key/{key}", "", "/api/key/{id}", 200},
	{"list sessions", "GET", "/api/session", "", "/api/session", 200},
	{"choose tenant", "PATCH", "/api/session/{mine}", `{"tenant":"default"}`, "/api/session/{id}", 200},
	{"end session", "DELETE", "/api/session/{session}", "", "/api/session/{id}", 200},
	{"audit", "GET", "/api/audit?action=key.revoke", "", "/api/audit", 200},
	{"create webhook", "POST", "/api/webhook", `{"url":"https://1.1.1.1"}`, "/api/webhook", 201},
	{"list webhooks", "GET", "/api/webhook", "", "/api/webhook", 200},
	{"get webhook", "GET", "/api/webhook/{webhook}", "", "/api/webhook/{id}", 200},
	{"update webhook", "PATCH", "/api/webhook/{webhook}", `{"enabled":true}`, "/api/webhook/{id}", 200},
	{"rotate secret", "POST", "/api/webhook/{webhook}/rotate-secret", "", "/api/webhook/{id}/rotate-secret", 200},
	{"report delivery", "POST", "/api/webhook/delivery/{delivery}/report", `{"receipt":"{receipt}","status":200}`, "/api/webhook/delivery/{id}/report", 200},
	{"get message", "GET", "/api/webhook/delivery/{delivery}/message", "", "/api/webhook/delivery/{id}/message", 200},
	{"replay delivery", "POST", "/api/webhook/delivery/{delivery}/replay", "", "/api/webhook/delivery/{id}/replay", 202},
	{"test webhook", "POST", "/api/webhook/{webhook}/test", "", "/api/webhook/{id}/test", 202},
	{"fetch events", "POST", "/api/webhook/{webhook}/fetch", "", "/api/webhook/{id}/fetch", 200},
	{"list deliveries", "GET", "/api/webhook/{webhook}/deliveries", "", "/api/webhook/{id}/deliveries", 200},
	{"delete webhook", "DELETE", "/api/webhook/{webhook}", "", "/api/webhook/{id}", 200},
	{"delete resolution", "DELETE", "/api/video/resolution/{resolution}", "", "/api/video/resolution/{id}", 200},
	{"delete video", "DELETE", "/api/video/{public}", "", "/api/video/{id}", 200},
}
