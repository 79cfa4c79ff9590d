package delivery

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/video"
)

// restrict has a video played on these sites only.
func (r *rig) restrict(id video.ID, noOrigin bool, sites ...string) {
	r.T.Helper()
	list := append([]string{}, sites...)
	_, err := r.Catalog.Edit(r.T.Context(), r.By, id, video.Edit{AllowedOrigins: &list, AllowNoOrigin: &noOrigin})
	r.Must(err)
}

const spool = "https://video.example.com/spool"

func newOriginRig(t *testing.T) *rig {
	t.Helper()
	return newRigOn(t, makeRendition(t), Config{CDN: true, Purged: true, Base: func(*http.Request) (string, error) { return spool, nil }}, onRemote)
}

func TestFilesAreSentToAllowedSitesOnly(t *testing.T) {
	t.Parallel()
	r := newOriginRig(t)
	r.addFile("poster.jpg", []byte("poster"))
	sites := []string{"example.com", "*.example.org", "https://app.example.net:8443"}
	for _, tt := range []struct {
		name                string
		headers             []string
		allowed, isNoOrigin bool
	}{
		{"a listed site", []string{"Origin", "https://example.com"}, true, false},
		{"a subdomain", []string{"Origin", "http://a.b.example.org"}, true, false},
		{"a port", []string{"Origin", "https://app.example.net:8443"}, true, false},
		{"a page of a listed site", []string{"Referer", "https://example.com/films?id=3"}, true, false},
		{"this server", []string{"Origin", "https://video.example.com"}, true, false},
		{"a page of this server", []string{"Referer", spool + "/"}, true, false},
		{"a page of this server that says nothing else", []string{"Sec-Fetch-Site", "same-origin"}, true, false},
		{"another site", []string{"Origin", "https://evil.com"}, false, false},
		{"another site, whose page is called by a listed one", []string{"Origin", "https://evil.com", "Referer", "https://example.com/"}, false, false},
		{"a similar name", []string{"Origin", "https://evilexample.com"}, false, false},
		{"a longer name", []string{"Origin", "https://example.com.evil.com"}, false, false},
		{"a name in a password", []string{"Referer", "https://example.com@evil.com/"}, false, false},
		{"a page in a sandbox", []string{"Origin", "null"}, false, false},
		{"a page in a sandbox of a listed site", []string{"Origin", "null", "Referer", "https://example.com/"}, false, false},
		{"nonsense", []string{"Referer", "https://%zz"}, false, false},
		{"a site that hides in Referer", []string{"Referer", "about:blank"}, false, false},
		{"no site", nil, false, true},
	} {
		for _, noOrigin := range []bool{false, true} {
			r.restrict(r.film, noOrigin, sites...)
			r.restrict(r.secret, noOrigin, sites...)
			for _, path := range []string{r.path, r.public("master.m3u8"), r.public("720p-0.m4s"), r.signed("720p.mp4", time.Hour), r.streamed("720p.m3u8", time.Hour)} {
				w := r.do("GET", path, tt.headers...)
				want := http.StatusOK
				if !tt.allowed && !(tt.isNoOrigin && noOrigin) {
					wantProblem(t, w.Code, w.Header(), w.Body, 403, "origin_not_allowed")
					want = http.StatusForbidden
				}
				h := w.Header()
				if w.Code != want || h.Get("Vary") != "Origin, Referer" || h.Get("Access-Control-Allow-Origin") != "*" || strings.Contains(h.Get("Cache-Control"), "public") || h.Get("Cache-Tag") != "" {
					t.Errorf("%s, with no origin allowed: %t: GET %s is answered %d %v; want %d", tt.name, noOrigin, path, w.Code, h, want)
				}
			}
		}
		if w := r.do("GET", r.public("poster.jpg"), tt.headers...); w.Code != http.StatusOK { // not from the bucket
			t.Errorf("%s: the poster is answered %d", tt.name, w.Code)
		}
	}
	if w := r.do("GET", strings.Replace(r.path, string(r.film), string(r.secret), 1), "Origin", "https://evil.com"); w.Code != 404 {
		t.Errorf("that a private video exists is told: %d", w.Code)
	}
}

func TestARuleHoldsAtOnceAndEndsAtOnce(t *testing.T) {
	t.Parallel()
	r := newOriginRig(t)
	ask := func(want int, headers ...string) {
		t.Helper()
		if w := r.do("GET", r.path, headers...); w.Code != want {
			t.Errorf("a file is answered %d %v; want %d", w.Code, w.Header(), want)
		}
	}
	ask(http.StatusFound)
	r.restrict(r.film, false)
	ask(http.StatusForbidden)
	ask(http.StatusForbidden, "Origin", "https://example.com")
	ask(http.StatusOK, "Origin", "https://video.example.com")
	r.restrict(r.film, false, "example.com")
	ask(http.StatusOK, "Origin", "https://example.com")
	var none []string
	_, err := r.Catalog.Edit(t.Context(), r.By, r.film, video.Edit{AllowedOrigins: &none})
	r.Must(err)
	ask(http.StatusFound)
}

// A change that another process has made holds within two seconds. Without the database the last answer counts for a while.
func TestARuleOfAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newOriginRig(t)
	r.do("GET", r.path)
	_, err := r.Store.Writer().ExecContext(t.Context(), `UPDATE video SET allowed_origins = '["example.com"]' WHERE id = $1`, r.film)
	r.Must(err)
	r.Advance(2 * time.Second)
	if w := r.do("GET", r.path); w.Code != http.StatusForbidden {
		t.Errorf("two seconds later a file is answered %d", w.Code)
	}
	r.Must(r.Store.Close())
	r.Advance(2 * time.Second)
	for want, origin := range map[int]string{200: "https://example.com", 403: "https://evil.com"} {
		if w := r.do("GET", r.path, "Origin", origin); w.Code != want {
			t.Errorf("without the database %s is answered %d; want %d", origin, w.Code, want)
		}
	}
}

// The pages of shares are pages of this server, and the address of an original is handed out to keys.
func TestAddressesThatAreNotAskedForAnOrigin(t *testing.T) {
	t.Parallel()
	r := newOriginRig(t)
	r.restrict(r.secret, false)
	sh, err := r.Shares.Create(t.Context(), r.By, r.secret, share.Draft{})
	r.Must(err)
	shared := playback.SharedURLs(r.Video(r.secret), playback.Base{}, r.Signing, r.Now().Add(time.Hour), string(sh.ID))
	if w := r.do("GET", shared.HLS, "Origin", "https://evil.com"); w.Code != http.StatusOK {
		t.Errorf("a playlist of a share is answered %d", w.Code)
	}
	v := r.Create(video.Draft{AllowedOrigins: []string{}}).Video
	_, err = r.Blobs.Put(t.Context(), "upload/"+string(v.ID)+"/file", bytes.NewReader(servicetest.LikeVideo))
	r.Must(err)
	_, err = r.Uploads.Complete(t.Context(), r.By, v.ID)
	r.Must(err)
	if w := r.do("GET", r.original(v.ID)); w.Code != http.StatusOK { // not from the bucket
		t.Errorf("an original is answered %d %v", w.Code, w.Header())
	}
}

// Addresses for pages of this server are not asked for an origin. They open one video, for a while.
func TestAddressesOfPages(t *testing.T) {
	t.Parallel()
	r := newOriginRig(t)
	for _, id := range []video.ID{r.film, r.secret} {
		r.restrict(id, false)
		urls := playback.PageURLs(r.Video(id), playback.Base{}, r.Signing, r.Now().Add(time.Hour))
		if w := r.do("GET", urls.HLS, "Origin", "https://evil.com"); w.Code != 200 || w.Header().Get("Cache-Control") != "private, max-age=10" {
			t.Errorf("a playlist for a page is answered %d %v", w.Code, w.Header())
		}
		folder := strings.TrimSuffix(urls.HLS, "master.m3u8")
		if w := r.do("GET", folder+"720p.mp4"); w.Code != 200 {
			t.Errorf("a file for a page is answered %d %v", w.Code, w.Header())
		}
		r.Advance(2 * time.Hour)
		w := r.do("GET", folder+"720p.mp4")
		wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_expired")
	}
	token := r.Signing.Sign(sign.Page, "private/"+string(r.secret), r.Now().Add(time.Hour))
	if w := r.do("GET", "/v/"+token+"/"+string(r.secret)+"/720p.mp4"); w.Code != 200 {
		t.Errorf("a file of a page is answered %d", w.Code)
	}
	w := r.do("GET", "/v/"+token+"/"+string(r.film)+"/720p.mp4")
	wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_invalid")
	old := r.Signing.Sign(sign.Page, "public/"+string(r.secret), r.Now().Add(time.Hour)) // from before it became private
	w = r.do("GET", "/v/"+old+"/"+string(r.secret)+"/720p.mp4")
	wantProblem(t, w.Code, w.Header(), w.Body, 404, "not_found")
	if err := r.Signing.Verify(t.Context(), sign.Stream, string(r.secret), token); err == nil {
		t.Error("an address for a page is one for everybody")
	}
}
