package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

const (
	testKey      = "a-valid-key"
	readKey      = "a-read-only-key"
	writeKey     = "a-write-only-key"
	testToken    = "17.k1.sig"
	testID       = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	resolutionID = "0198c5b6-7d5e-7c3a-9b1e-aaaaaaaaaaaa"
	validDraft   = `{"filename":"a.mp4","resolutions":["720p","144p"],"isPublic":true}`
)

// fakeService records its arguments.
type fakeService struct {
	err      error // what every method but Authenticate returns
	playback catalog.PlaybackInfo
	report   catalog.Report
	state    catalog.State
	next     video.Cursor
	usage    video.Usage
	system   system.Status

	actor      auth.Actor
	draft      video.Draft
	base       string
	id         video.ID
	resolution video.ResolutionID
	name       video.Name
	edit       video.Edit
	ttl        time.Duration
	filter     video.Filter
	after      video.Cursor
	limit      int
	calls      int
	repeated   bool
	replaced   bool // captions
	captions   captions.Upload
	key        auth.KeyDraft
	tenant     video.Tenant
}

// services returns the fake as every service.
func (f *fakeService) services() Services {
	return Services{Keys: f, Catalog: f, Uploads: f, Deleter: f, Tenants: f, Webhooks: &fakeWebhooks{service: f}, Tokens: (*fakeTokens)(f), Captions: f, System: f}
}

func (f *fakeService) Authenticate(_ context.Context, secret string) (auth.Actor, error) {
	switch secret {
	case testKey:
		return auth.Actor{KeyID: "k1", Tenant: video.DefaultTenant, Scopes: auth.Scopes}, nil
	case readKey:
		return auth.Actor{KeyID: "k2", Tenant: video.DefaultTenant, Scopes: []auth.Scope{auth.Read}}, nil
	case writeKey:
		return auth.Actor{KeyID: "k3", Tenant: video.DefaultTenant, Scopes: []auth.Scope{auth.Write}}, nil
	case "":
		return auth.Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "missing_api_key", Msg: "Send a key in the X-API-KEY header."}
	default:
		return auth.Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "invalid_api_key", Msg: "This key is not valid."}
	}
}

func (f *fakeService) Status(_ context.Context, by auth.Actor) (system.Status, error) {
	f.actor = by
	f.calls++
	return f.system, f.err
}

// fakeTokens are the tokens of a fakeService.
type fakeTokens fakeService

func (f *fakeTokens) Create(_ context.Context, by auth.Actor, id video.ID, ttl time.Duration) (string, time.Time, error) {
	f.actor, f.id, f.ttl, f.calls = by, id, ttl, f.calls+1
	return testToken, time.Date(2030, 1, 2, 12, 0, 0, 0, time.FixedZone("CET", 3600)), f.err
}

func (f *fakeTokens) Authenticate(_ context.Context, id video.ID, token string) (auth.Actor, error) {
	if id != testID || token != testToken {
		return auth.Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "invalid_token", Msg: "This token is not valid."}
	}
	return auth.Actor{KeyID: "token of " + testID, Video: id, Scopes: []auth.Scope{auth.Read}}, nil
}

// Valid says that all keys are valid.
func (f *fakeService) Valid(_ context.Context, ids []string) (map[string]bool, error) {
	valid := map[string]bool{}
	for _, id := range ids {
		valid[id] = true
	}
	return valid, nil
}

func (f *fakeService) CreateOwn(_ context.Context, by auth.Actor, d auth.KeyDraft) (string, auth.Key, error) {
	f.actor, f.key, f.calls = by, d, f.calls+1
	return "spool_secret", auth.Key{ID: testID, Name: d.Name, Scopes: d.Scopes, CreatedAt: webhookTime, MadeBy: by.KeyID}, f.err
}

// ListOwn returns a key that says everything and one that says little.
func (f *fakeService) ListOwn(_ context.Context, by auth.Actor, after video.Cursor, limit int) (auth.KeyPage, error) {
	f.actor, f.after, f.limit, f.calls = by, after, limit, f.calls+1
	return auth.KeyPage{Next: f.next, Keys: []auth.Key{
		{ID: testID, Name: "site", Scopes: []auth.Scope{auth.Read}, CreatedAt: webhookTime, ExpiresAt: webhookTime.Add(time.Hour), MadeBy: "k1"},
		{ID: by.KeyID, CreatedAt: webhookTime},
	}}, f.err
}

func (f *fakeService) RevokeOwn(_ context.Context, by auth.Actor, id string) error {
	f.actor, f.id, f.calls = by, video.ID(id), f.calls+1
	return f.err
}

func (f *fakeService) Create(_ context.Context, by auth.Actor, d video.Draft, base string) (catalog.Upload, error) {
	f.actor, f.draft, f.base, f.calls = by, d, base, f.calls+1
	v := testVideo(d.IsPublic, video.PendingUpload, d.Resolutions...)
	return catalog.Upload{Video: v, URL: base + "/upload/17.k1.sig/" + testID, TusURL: base + "/upload/tus/17.k1.sig/" + testID, MaxBytes: 5 << 30, Repeated: f.repeated}, f.err
}

func (f *fakeService) Usage(_ context.Context, by auth.Actor) (video.Usage, error) {
	f.actor, f.calls = by, f.calls+1
	return f.usage, f.err
}

// Page returns one tenant, and that there are more if there is a next video, too.
func (f *fakeService) Page(_ context.Context, by auth.Actor, after video.Tenant, limit int) (tenants.Page, error) {
	f.actor, f.tenant, f.limit, f.calls = by, after, limit, f.calls+1
	p := tenants.Page{Tenants: []tenants.Tenant{{Name: "acme", Usage: f.usage}}}
	if f.next != (video.Cursor{}) {
		p.Next = "acme"
	}
	return p, f.err
}

func (f *fakeService) Put(_ context.Context, by auth.Actor, id video.ID, u captions.Upload) (video.Video, video.File, bool, error) {
	f.actor, f.id, f.captions, f.calls = by, id, u, f.calls+1
	f.captions.Text = bytes.Clone(u.Text)
	v := testVideo(true, video.Ready)
	v.Files = []video.File{{Name: "captions-en-1.vtt", Kind: video.SubtitlesKind, Language: "en", Label: "English", Source: video.Uploaded}}
	return v, v.Files[0], !f.replaced, f.err
}

func (f *fakeService) Delete(_ context.Context, by auth.Actor, id video.ID, language string) error {
	f.actor, f.id, f.captions.Language, f.calls = by, id, language, f.calls+1
	return f.err
}

func (f *fakeService) Complete(_ context.Context, by auth.Actor, id video.ID) (video.Video, error) {
	f.actor, f.id, f.calls = by, id, f.calls+1
	return testVideo(true, video.Processing, "720p", "144p"), f.err
}

func (f *fakeService) Public(_ context.Context, by auth.Actor, id video.ID, base string) (catalog.PlaybackInfo, error) {
	f.actor, f.id, f.base, f.calls = by, id, base, f.calls+1
	return f.playback, f.err
}

func (f *fakeService) Private(_ context.Context, by auth.Actor, id video.ID, ttl time.Duration, base string) (catalog.PlaybackInfo, error) {
	f.actor, f.id, f.ttl, f.base, f.calls = by, id, ttl, base, f.calls+1
	return f.playback, f.err
}

func (f *fakeService) State(_ context.Context, by auth.Actor, id video.ID) (catalog.State, error) {
	f.actor, f.id, f.calls = by, id, f.calls+1
	return f.state, f.err
}

// States returns the same state for all videos.
func (f *fakeService) States(_ context.Context, ids []video.ID) (map[video.ID]catalog.State, error) {
	states := map[video.ID]catalog.State{}
	for _, id := range ids {
		states[id] = f.state
	}
	return states, f.err
}

// List returns one video, unless state is empty.
func (f *fakeService) List(_ context.Context, by auth.Actor, filter video.Filter, after video.Cursor, limit int) (catalog.Page, error) {
	f.actor, f.filter, f.after, f.limit, f.calls = by, filter, after, limit, f.calls+1
	page := catalog.Page{Next: f.next}
	if f.state.Video.ID != "" {
		page.Videos = []catalog.State{f.state}
	}
	return page, f.err
}

// FileURLs returns the addresses of the files that the video lists.
func (*fakeService) FileURLs(v video.Video, base string) []playback.FileURL {
	var all []playback.FileURL
	for _, f := range v.Files {
		all = append(all, playback.FileURL{File: f, URL: base + "/" + f.Name})
	}
	return all
}

func (f *fakeService) Report(_ context.Context, by auth.Actor, id video.ID) (catalog.Report, error) {
	f.actor, f.id, f.calls = by, id, f.calls+1
	return f.report, f.err
}

func (f *fakeService) DeleteVideo(_ context.Context, by auth.Actor, id video.ID) error {
	f.actor, f.id, f.calls = by, id, f.calls+1
	return f.err
}

func (f *fakeService) AddResolution(_ context.Context, by auth.Actor, id video.ID, name video.Name) (catalog.State, error) {
	f.actor, f.id, f.name, f.calls = by, id, name, f.calls+1
	return f.state, f.err
}

func (f *fakeService) RetryImport(_ context.Context, by auth.Actor, id video.ID) (catalog.State, error) {
	f.actor, f.id, f.calls = by, id, f.calls+1
	return f.state, f.err
}

func (f *fakeService) Edit(_ context.Context, by auth.Actor, id video.ID, e video.Edit) (catalog.State, error) {
	f.actor, f.id, f.edit, f.calls = by, id, e, f.calls+1
	return f.state, f.err
}

func (f *fakeService) RetryResolution(_ context.Context, by auth.Actor, id video.ResolutionID) (catalog.State, error) {
	f.actor, f.resolution, f.calls = by, id, f.calls+1
	return f.state, f.err
}

func (f *fakeService) DeleteResolution(_ context.Context, by auth.Actor, id video.ResolutionID) error {
	f.actor, f.resolution, f.calls = by, id, f.calls+1
	return f.err
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

// newHandler returns the handler chain as the server wires it.
func newHandler(t testing.TB, s *fakeService, c Config) http.Handler {
	t.Helper()
	a := New(s.services(), c)
	mux := http.NewServeMux()
	a.Register(mux)
	return problem.RequestID(slog.New(slog.DiscardHandler), problem.Recover(a.InFrontOf(problem.Mux(mux))))
}

// request returns a request with a valid key; a body is sent as JSON.
func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-API-KEY", testKey)
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
