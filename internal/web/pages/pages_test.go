package pages

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

const (
	base     = "https://video.example.com/spool"
	publicID = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	nasty    = `<script>alert(1)</script>"'&`
)

// ready returns a public video that can be played.
func ready() video.Video {
	return video.Video{
		ID: publicID, Title: nasty, Filename: "film.mp4", IsPublic: true, Status: video.Ready, Duration: 83 * time.Second,
		CreatedAt: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), UploadExpiresAt: time.Date(2026, 5, 4, 4, 2, 1, 0, time.UTC),
		Files: []video.File{{Name: video.PosterFile}},
		Resolutions: []video.Resolution{
			{Name: "1080p", Status: video.Ready, Width: 1920, Height: 1080},
			{Name: "480p", Status: video.Ready, Width: 854, Height: 480},
			{Name: "240p", Status: video.Processing},
		},
	}
}

// infoOf returns what pages know of a video.
func infoOf(v video.Video) catalog.PlaybackInfo {
	s := catalog.State{Video: v}
	for _, r := range v.Resolutions {
		s.Resolutions = append(s.Resolutions, catalog.ResolutionState{Resolution: r})
	}
	return catalog.PlaybackInfo{State: s, URLs: playback.PublicURLs(v, playback.NewBase(base, ""))}
}

// site is the pages on real services.
type site struct {
	*servicetest.Rig
	*http.ServeMux
}

// serve returns the pages of a server with this video.
func serve(t *testing.T, v video.Video) site {
	t.Helper()
	s := site{servicetest.New(t), http.NewServeMux()}
	s.Must(Register(s.ServeMux, s.Catalog, s.Shares, Config{
		Origins: []string{base, "https://bucket.example.com"}, Brands: brand.New(s.Store, s.Now),
		Base:   func(*http.Request) (string, error) { return base, nil },
		Client: func(*http.Request) netip.Prefix { return netip.MustParsePrefix("192.0.2.1/32") },
	}))
	v.Tenant = s.By.Tenant
	for i := range v.Resolutions {
		v.Resolutions[i].ID = video.ResolutionID(v.Resolutions[i].Name)
	}
	s.Must(s.Store.InTx(t.Context(), func(tx *store.Tx) error {
		s.Must(tx.InsertVideo(t.Context(), v))
		for _, r := range v.Resolutions {
			s.Must(tx.SetOutput(t.Context(), r))
		}
		if v.Failure != nil {
			_, err := tx.RefuseUpload(t.Context(), v.ID, v.Failure)
			s.Must(err)
		}
		return tx.SetFindings(t.Context(), v.ID, store.Findings{Plan: &video.Plan{Duration: v.Duration}, Files: v.Files})
	}))
	return s
}

// embed returns the path of the embed page for the holder of a token.
func (s site) embed(life time.Duration) string {
	return "/embed/" + s.Signing.Sign(sign.Embed, publicID, s.Now().Add(life)) + "/" + publicID
}

func get(t *testing.T, h http.Handler, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestTheWatchPageEscapesEverything(t *testing.T) {
	t.Parallel()
	res, body := get(t, serve(t, ready()), "/watch/"+publicID+"?start=12.5&captions=%22x&autoplay=1")
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the page is %d %s", res.StatusCode, body)
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, nasty) {
		t.Errorf("the title is markup in %s", body)
	}
	for _, want := range []string{
		`<title>&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;</title>`,
		`<meta property="og:image" content="` + base + `/v/` + publicID + `/poster.jpg">`,
		`<meta property="og:video" content="` + base + `/v/` + publicID + `/480p.mp4">`,
		`<meta property="og:image:width" content="1280">`,
		`<meta name="twitter:player" content="` + base + `/embed/` + publicID + `">`,
		`type="application/json+oembed" href="` + base + `/oembed?format=json&amp;url=https%3A%2F%2Fvideo.example.com%2Fspool%2Fwatch%2F` + publicID + `"`,
		`<p class="facts" id="facts">1:23 · 1920 × 1080 · 4 May 2026</p>`,
		`hls="` + base + `/v/` + publicID + `/master.m3u8"`,
		` start="12.5"`, ` autoplay`, ` eager`,
		`src="../player/`,
		`aspect-ratio: 16 / 9; border: 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(body, " captions=") || strings.Contains(body, " muted") {
		t.Error("the page has something that nobody asked for")
	}
}

func TestOnlyEmbedPagesMayBeFramed(t *testing.T) {
	t.Parallel()
	h := serve(t, ready())
	for path, want := range map[string]string{
		"/watch/" + publicID:                      "frame-ancestors 'none'",
		"/watch/x":                                "frame-ancestors 'none'",
		"/embed/" + publicID:                      "frame-ancestors *",
		h.embed(time.Minute):                      "frame-ancestors *",
		h.embed(-time.Minute):                     "frame-ancestors *",
		"/embed/" + publicID + "?start=1&muted=1": "frame-ancestors *",
	} {
		res, _ := get(t, h, path)
		policy := res.Header.Get("Content-Security-Policy")
		if !strings.HasSuffix(policy, want) || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy of %s is %q, want %s", path, policy, want)
		}
		if !strings.Contains(policy, "media-src blob: data: 'self' https://video.example.com https://bucket.example.com;") {
			t.Errorf("the policy of %s is %q, without the origins", path, policy)
		}
	}
}

func TestRefusalsArePages(t *testing.T) {
	t.Parallel()
	h := serve(t, ready())
	for _, tt := range []struct {
		path   string
		status int
		says   string
	}{
		{"/watch/0198c5b6-7d5e-7c3a-9b1e-000000000000", 404, "There is no such video"},
		{"/watch/not-an-id", 404, "There is no such video"},
		{"/embed/not-an-id", 404, "There is no such video"},
		{h.embed(-time.Minute), 403, "This link has expired"},
		{"/embed/forged/" + publicID, 403, "This link does not work"},
	} {
		res, body := get(t, h, tt.path)
		if res.StatusCode != tt.status || !strings.Contains(body, "<h1>"+tt.says+"</h1>") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s is %d %s, want a page with %q", tt.path, res.StatusCode, body, tt.says)
		}
		if res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is cached as %q", tt.path, res.Header.Get("Cache-Control"))
		}
	}
	res, body := get(t, h, h.embed(-time.Minute)+"?state")
	if res.StatusCode != 403 || !strings.Contains(body, `"code":"url_expired"`) {
		t.Errorf("the state is %d %s, want a problem", res.StatusCode, body)
	}
}

func TestPagesOfVideosThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	for status, want := range map[video.Status]string{
		video.PendingUpload: "Not here yet",
		video.Processing:    "Getting ready",
		video.Fail:          "The file is not a film &amp; not a picture.",
	} {
		v := ready()
		v.Status, v.Resolutions = status, nil
		if status == video.Fail {
			v.Status, v.Failure = video.PendingUpload, &video.Failure{Code: "not_a_video", Message: "The file is not a film & not a picture."}
		}
		h := serve(t, v)
		res, body := get(t, h, "/watch/"+publicID)
		if res.StatusCode != 200 || !strings.Contains(body, want) || strings.Contains(body, "<spool-player") {
			t.Errorf("the page of a video that is %s is %d %s", status, res.StatusCode, body)
		}
		_, text := get(t, h, "/watch/"+publicID+"?state")
		var s state
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Playable || s.Failed != (status == video.Fail) {
			t.Errorf("the state of a video that is %s is %s %v", status, text, err)
		}
	}
}

// What a format is called helps the publisher, who reads it in the API.
func TestViewersReadNoCodesOfFormats(t *testing.T) {
	t.Parallel()
	v := ready()
	v.Status, v.Resolutions = video.Fail, nil
	v.Failure = &video.Failure{Code: video.UnsupportedCodec, Message: "It is stored in a format (vvc1) that cannot be decoded here."}
	if s := stateOf(infoOf(v)); s.Message != "It is stored in a format that cannot be decoded here." {
		t.Errorf("the page says %q", s.Message)
	}
}

func TestOEmbed(t *testing.T) {
	t.Parallel()
	h := serve(t, ready())
	ask := func(query string) (*http.Response, oembedAnswer, string) {
		res, body := get(t, h, "/oembed?"+query)
		var a oembedAnswer
		_ = json.Unmarshal([]byte(body), &a) // of an error it is another shape
		return res, a, body
	}
	watch, embed := url.QueryEscape(base+"/watch/"+publicID), url.QueryEscape("http://VIDEO.example.com/spool/embed/"+publicID)
	for query, want := range map[string]size{
		"url=" + watch:                                   {1280, 720},
		"url=" + embed + "&format=json":                  {1280, 720},
		"url=" + watch + "&maxwidth=640":                 {640, 360},
		"url=" + watch + "&maxwidth=640&maxheight=90":    {160, 90},
		"url=" + watch + "&maxwidth=3000&maxheight=2000": {1920, 1080},
	} {
		res, a, body := ask(query)
		if res.StatusCode != 200 || a.Width != want.width || a.Height != want.height || a.Type != "video" || a.Version != "1.0" || a.Title != nasty {
			t.Errorf("%s is %d %s, want %v", query, res.StatusCode, body, want)
		}
		if !strings.HasPrefix(a.HTML, `<iframe src="`+base+`/embed/`+publicID+`" title="&lt;script&gt;`) {
			t.Errorf("%s gives the code %s", query, a.HTML)
		}
		if has := a.ThumbnailURL != ""; has != (want.width >= 1280) || has && a.ThumbnailWidth != 1280 {
			t.Errorf("%s gives the picture %s with %d pixels", query, a.ThumbnailURL, a.ThumbnailWidth)
		}
	}
	for query, status := range map[string]int{
		"url=" + watch + "&format=xml":     501,
		"url=" + watch + "&maxwidth=0":     400,
		"url=" + watch + "&maxheight=wide": 400,
		"":                                 404,
		"url=" + url.QueryEscape("https://other.example.com/watch/"+publicID):                 404,
		"url=" + url.QueryEscape(base+"/watch/x"):                                             404,
		"url=" + url.QueryEscape(base+"/embed/token/"+publicID):                               404,
		"url=" + url.QueryEscape(base+"/watch/"+strings.Replace(publicID, "0198", "0199", 1)): 404,
	} {
		if res, _, body := ask(query); res.StatusCode != status || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s is %d %s, want %d", query, res.StatusCode, body, status)
		}
	}
}

// A poster has the size of the source, whatever was made of that.
func TestThePictureIsToldWithItsOwnSize(t *testing.T) {
	t.Parallel()
	small := ready()
	small.Files = []video.File{{Name: video.PosterFile, Width: 1080, Height: 1920}}
	small.Resolutions = []video.Resolution{{Name: "144p", Status: video.Ready, Width: 144, Height: 256}}
	awaited := ready()
	awaited.Status, awaited.Files = video.Processing, nil
	for _, tt := range []struct {
		video video.Video
		query string
		want  size
	}{
		{small, "", size{1080, 1920}},
		{small, "&maxwidth=1080", size{1080, 1920}},
		{small, "&maxwidth=640", size{}},
		{small, "&maxheight=1280", size{}},
		{awaited, "", size{}}, // there is none yet
	} {
		_, body := get(t, serve(t, tt.video), "/oembed?url="+url.QueryEscape(base+"/watch/"+publicID)+tt.query)
		var a oembedAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil || tt.want != (size{a.ThumbnailWidth, a.ThumbnailHeight}) || (a.ThumbnailURL != "") != (tt.want.width > 0) {
			t.Errorf("with %q it is %s %v, want a picture of %v", tt.query, body, err, tt.want)
		}
	}
	_, page := get(t, serve(t, small), "/watch/"+publicID)
	for _, want := range []string{
		`<meta property="og:image:width" content="1080">`, `<meta property="og:image:height" content="1920">`,
		`<meta property="og:video:width" content="144">`, `<meta property="og:video:height" content="256">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if _, page := get(t, serve(t, awaited), "/watch/"+publicID); strings.Contains(page, "og:image:width") {
		t.Error("the page tells the size of a picture that is not there")
	}
}

func TestOneClientCannotAskForEver(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	client := func(address string) *http.Request {
		r := httptest.NewRequest("GET", "/watch/x", nil)
		r.RemoteAddr = address + ":4000"
		return r
	}
	p := &pages{rates: limit.NewRates[netip.Prefix](perSecond, burst, func() time.Time { return now })}
	p.Client = func(r *http.Request) netip.Prefix { return limit.ClientOf(r, nil) }
	one, other := client("192.0.2.1"), client("192.0.2.2")
	for i := range burst {
		if err := p.allow(one); err != nil {
			t.Fatalf("request %d is refused: %v", i, err)
		}
	}
	if err := p.allow(one); video.KindOf(err) != video.RateLimited {
		t.Errorf("request %d is not refused: %v", burst, err)
	}
	if err := p.allow(other); err != nil {
		t.Errorf("another client is refused: %v", err)
	}
	now = now.Add(time.Second)
	if err := p.allow(one); err != nil {
		t.Errorf("a second later it is refused: %v", err)
	}
	p.Unlimited = true
	for range 2 * burst {
		if err := p.allow(one); err != nil {
			t.Fatalf("a limit that is off limits: %v", err)
		}
	}
}

func TestTheFileForOldBrowsers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		heights []int
		want    string
	}{
		{[]int{1080, 480, 240}, "480p"},
		{[]int{240, 480, 1080}, "480p"},
		{[]int{2160, 1080}, "1080p"},
		{[]int{1080, 2160}, "1080p"},
		{nil, ""},
	} {
		info := catalog.PlaybackInfo{URLs: playback.URLs{Resolutions: map[video.Name]playback.ResolutionURLs{}}}
		for _, h := range tt.heights {
			name := video.Name(strconv.Itoa(h) + "p")
			info.Resolutions = append(info.Resolutions, catalog.ResolutionState{Resolution: video.Resolution{Name: name, Status: video.Ready, Width: h * 2, Height: h}})
			info.URLs.Resolutions[name] = playback.ResolutionURLs{Rendition: string(name)}
		}
		got, picture := fileOf(info)
		if got != tt.want || got != "" && got != strconv.Itoa(picture.height)+"p" {
			t.Errorf("of %v it is %q of %v, want %q", tt.heights, got, picture, tt.want)
		}
	}
}

// A page does not let the player ask for pictures that are still being made.
func TestPicturesOfAVideoThatIsBeingMade(t *testing.T) {
	t.Parallel()
	info := infoOf(ready())
	info.Video.Files = nil
	info.URLs.Files = []playback.FileURL{
		{File: video.File{Name: video.StoryboardFile}, URL: base + "/v/storyboard.vtt"},
		{File: video.File{Name: video.PosterFile}, URL: base + "/v/poster.jpg"},
	}
	want := func(when, storyboard, poster string) {
		t.Helper()
		if s := stateOf(info); s.Storyboard != storyboard || s.Poster != poster {
			t.Errorf("%s the pictures are %q and %q, want %q and %q", when, s.Storyboard, s.Poster, storyboard, poster)
		}
	}
	info.Video.Status = video.Processing
	want("at the beginning", "", "")
	info.Video.Files = []video.File{{Name: video.PosterFile}}
	want("with the poster", "", base+"/v/poster.jpg")
	info.Video.Status = video.Ready
	want("at the end", base+"/v/storyboard.vtt", base+"/v/poster.jpg")
}
