package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cdnOrigin is what playback URLs start with in these tests. The client connects to nginx instead.
const cdnOrigin = "http://cdn.test"

// purgeMessage is what the CDN is told.
type purgeMessage struct {
	Reason   string   `json:"reason"`
	VideoID  string   `json:"videoId"`
	Tags     []string `json:"tags"`
	Prefixes []string `json:"prefixes"`
	URLs     []string `json:"urls"`
}

// purger is the purge interface of a CDN. It can be out of order.
type purger struct {
	mu      sync.Mutex
	broken  bool
	refused int
	done    []purgeMessage
	apply   func(purgeMessage)
}

func (p *purger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var m purgeMessage
	err := json.NewDecoder(r.Body).Decode(&m)
	switch {
	case err != nil || r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer purge-secret":
		w.WriteHeader(http.StatusBadRequest)
	case p.broken:
		p.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		if p.apply != nil {
			p.apply(m)
		}
		p.done = append(p.done, m)
	}
}

func (p *purger) set(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// saw reports whether a purge of this video arrived, and how many were refused.
func (p *purger) saw(id, reason string) (m purgeMessage, ok bool, refused int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.done {
		if m.VideoID == id && m.Reason == reason {
			return m, true, p.refused
		}
	}
	return m, false, p.refused
}

// startCDN runs nginx as a CDN in front of a server, and returns a client that finds it.
func startCDN(t testing.TB, s *server) (client *http.Client, cache string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cdn") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	n := startNginxOn(t, "unix:"+socket, `proxy_cache_path $DIR/cache keys_zone=films:1m;`,
		`location /v/ { proxy_pass `+s.url+`; proxy_cache films; proxy_cache_key $uri$is_args$args; add_header X-Cache $upstream_cache_status always; }`)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}, filepath.Join(n.dir, "cache")
}

// forget removes what nginx has cached under a prefix. Its free version has no other way.
func forget(t testing.TB, cache string) func(purgeMessage) {
	return func(m purgeMessage) {
		files, err := os.ReadDir(cache)
		if err != nil {
			t.Error(err)
		}
		for _, f := range files {
			b, _ := os.ReadFile(filepath.Join(cache, f.Name())) // it may be gone
			for _, prefix := range m.Prefixes {
				if bytes.Contains(b[:min(len(b), 4096)], []byte("\nKEY: "+strings.TrimPrefix(prefix, cdnOrigin))) {
					_ = os.Remove(filepath.Join(cache, f.Name()))
				}
			}
		}
	}
}

func TestCDN(t *testing.T) {
	oneBackend(t, "the storage tests cover the rows, and files look alike to a CDN")
	t.Parallel()
	told := &purger{}
	api := httptest.NewServer(told)
	t.Cleanup(api.Close)
	s := start(t, withEnv("SPOOL_CDN_URL", cdnOrigin+"/"), withEnv("SPOOL_CDN_PURGE_URL", api.URL), withEnv("SPOOL_CDN_PURGE_TOKEN", "purge-secret"), pictured())
	client, cache := startCDN(t, s)
	told.mu.Lock()
	told.apply = forget(t, cache)
	told.mu.Unlock()
	v := cdnVideo(t, s)
	files := []string{v.Resolutions["144p"].VideoURL, v.PosterURL, cdnOrigin + "/v/" + v.ID + "/144p-0.m4s", cdnOrigin + "/v/" + v.ID + "/144p-init.mp4"}
	playViaCDN(t, client, files)
	s.getReady(strings.Replace(v.PreviewURL, cdnOrigin, s.url, 1)) // it is made together with the other formats
	picturesViaCDN(t, client, v.PosterURL)
	deleteBehindCDN(t, s, told, v)
	for _, address := range files {
		if r := viaCDN(t, client, address); r.status != http.StatusNotFound || r.header.Get("X-Cache") == "HIT" {
			t.Errorf("%s answers %d (%s) after its deletion", address, r.status, r.header.Get("X-Cache"))
		}
	}

	// A purge survives kill -9.
	told.set(true)
	other := s.create(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.deleteVideo(other.ID)
	s.kill()
	told.set(false)
	s.launch()
	s.waitReadyz()
	s.until("the purge to arrive after a crash", 2*time.Minute, func() (ok bool) { _, ok, _ = told.saw(other.ID, "video_deleted"); return ok })
}

// cdnVideo makes a video and checks its addresses.
func cdnVideo(t *testing.T, s *server) watch {
	t.Helper()
	u := s.submit(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, tinyClip))
	v := s.waitReady(u)
	film := v.Resolutions["144p"].VideoURL
	for name, address := range map[string]string{"film": film, "HLS": v.HLSURL, "poster": v.PosterURL} {
		if !strings.HasPrefix(address, cdnOrigin+"/v/"+v.ID+"/") {
			t.Errorf("the address of the %s does not start with the CDN's: %s", name, address)
		}
	}
	for _, address := range []string{u.UploadURL, v.EmbedURL, v.WatchURL} {
		if !strings.HasPrefix(address, s.url) {
			t.Errorf("%s should be an address of the server", address)
		}
	}
	if policy := s.get(v.WatchURL).header.Get("Content-Security-Policy"); !strings.Contains(policy, cdnOrigin) {
		t.Errorf("the watch page may not load from the CDN: %s", policy)
	}

	return v
}

// playViaCDN asks for files again and again. All but the first answers come out of the cache.
func playViaCDN(t *testing.T, client *http.Client, files []string) {
	t.Helper()
	hits := 0
	const rounds = 10
	for range rounds {
		for _, address := range files {
			r := viaCDN(t, client, address)
			if r.status != http.StatusPartialContent || len(r.body) != 100 || r.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Fatalf("%s answers %d with %d bytes and %v", address, r.status, len(r.body), r.header)
			}
			if r.header.Get("X-Cache") == "HIT" {
				hits++
			}
		}
	}
	if want := (rounds - 1) * len(files); hits != want {
		t.Errorf("%d of %d answers came out of the cache, want all but the first of each file, %d", hits, rounds*len(files), want)
	}
}

// picturesViaCDN asks for a poster in several formats. The cache keeps the JPEG only.
func picturesViaCDN(t *testing.T, client *http.Client, address string) {
	t.Helper()
	for round := range 2 {
		for accept, kind := range map[string]string{"image/webp,*/*": "image/webp", "image/*": "image/jpeg"} {
			r := viaCDN(t, client, address, "Accept", accept)
			kept := r.header.Get("X-Cache") == "HIT"
			if r.header.Get("Content-Type") != kind || r.header.Get("Vary") != "Accept" || kept && kind != "image/jpeg" || !kept && kind == "image/jpeg" && round > 0 {
				t.Errorf("round %d for %q: %v", round, accept, r.header)
			}
		}
	}
}

// deleteBehindCDN deletes a video while its CDN is out of order, which delays nothing.
func deleteBehindCDN(t *testing.T, s *server, told *purger, v watch) {
	t.Helper()
	told.set(true)
	s.deleteVideo(v.ID)
	s.until("a purge to be refused", time.Minute, func() bool { _, _, refused := told.saw(v.ID, ""); return refused > 0 })
	told.set(false)
	var m purgeMessage
	s.until("the purge to arrive", 2*time.Minute, func() (ok bool) { m, ok, _ = told.saw(v.ID, "video_deleted"); return ok })
	if !slices.Contains(m.URLs, v.Resolutions["144p"].VideoURL) || !slices.Contains(m.URLs, v.PosterURL) || !slices.Contains(m.URLs, v.HLSURL) ||
		!slices.Equal(m.Prefixes, []string{cdnOrigin + "/v/" + v.ID + "/"}) || !slices.Equal(m.Tags, []string{v.ID}) {
		t.Errorf("the CDN is told %+v", m)
	}
}

// viaCDN asks the CDN for the first bytes of a file.
func viaCDN(t testing.TB, client *http.Client, address string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=0-99")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, body}
}
