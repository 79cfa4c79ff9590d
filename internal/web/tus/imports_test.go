package tus_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/tus"
)

// originAddress is the only address that is not public and may be reached.
const originAddress = "127.0.0.3"

// slots is how many files are fetched at a time.
const slots = 16

// quick tries again soon, and otherwise waits longer than production: the machine may be busy.
var quick = imports.Timing{
	HeaderTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, SpeedPeriod: 2 * time.Minute, GiveUpAfter: 2 * time.Minute,
	RetryPause: 10 * time.Millisecond, MaxRetryPause: 100 * time.Millisecond, OwnPause: 50 * time.Millisecond,
}

// impatient gives up after moments.
var impatient = imports.Timing{
	HeaderTimeout: time.Second, IdleTimeout: 300 * time.Millisecond, SpeedPeriod: time.Second, GiveUpAfter: time.Second,
	RetryPause: 10 * time.Millisecond, MaxRetryPause: 100 * time.Millisecond, OwnPause: 50 * time.Millisecond,
}

// tries counts the tries to fetch a file.
type tries struct {
	mu                   sync.Mutex
	running, most, ended int
}

func (t *tries) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
	t.most = max(t.most, t.running)
}

func (t *tries) end(imports.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.ended++
}

// counted returns how many ran at the same time, at most, and how many have ended.
func (t *tries) counted() (most, ended int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most, t.ended
}

// origin is a server that files are fetched from.
type origin struct {
	*httptest.Server
	mux *http.ServeMux

	mu       sync.Mutex
	requests map[string][]*http.Request // by path
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{mux: http.NewServeMux(), requests: map[string][]*http.Request{}}
	listener, err := net.Listen("tcp", originAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests[r.URL.Path] = append(o.requests[r.URL.Path], r)
		o.mu.Unlock()
		o.mux.ServeHTTP(w, r)
	}))
	o.Listener.Close()
	o.Listener = listener
	o.Start()
	t.Cleanup(func() { o.CloseClientConnections(); o.Close() })
	return o
}

// seen returns the requests for a path.
func (o *origin) seen(path string) []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests[path]
}

// nth has a handler for each request of a path, the last one for all that follow.
func nth(all ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) { all[min(int(n.Add(1)), len(all))-1](w, r) }
}

// file serves a file as a good server does.
func file(whole []byte, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		http.ServeContent(w, r, "", lastModified(w.Header()), bytes.NewReader(whole))
	}
}

func lastModified(h http.Header) time.Time {
	at, _ := http.ParseTime(h.Get("Last-Modified")) // zero: none
	return at
}

// cut is a handler whose connection breaks off after some bytes.
func cut(after int, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { serve(&cutWriter{ResponseWriter: w, left: after}, r) }
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; err == nil && c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush() // the connection ends anyway
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// chunked serves a file without telling its length.
func chunked(whole []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"chunked"`)
		if r.Header.Get("Range") != "" {
			file(whole)(w, r)
			return
		}
		for _, part := range [][]byte{whole[:len(whole)/2], whole[len(whole)/2:]} {
			_, _ = w.Write(part) // the client may have gone
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// runImports fetches until the returned function is called, or the test ends. Then the process starts anew.
func (b *bench) runImports() (stop func()) {
	b.t.Helper()
	q := b.queue
	fetch := b.Imports.Handler(tus.Imports(b.uploadServices(), b.storage))
	b.must(q.Start(b.t.Context(), map[queue.Lane]queue.Pool{queue.ImportLane: {Places: slots, Handle: fetch}}))
	end := sync.OnceFunc(func() { b.must(q.Stop(context.WithoutCancel(b.t.Context()))) })
	b.t.Cleanup(end)
	return func() { end(); b.wire() }
}

// fetch creates a video whose file is fetched.
func (b *bench) fetch(t *testing.T, address string) *upload {
	t.Helper()
	up, err := b.Catalog.Create(t.Context(), b.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"144p"}, SourceURL: &address}, b.url)
	if err != nil {
		t.Fatal(err)
	}
	if up.URL != "" || up.TusURL != "" || up.Video.Status != video.PendingUpload {
		t.Errorf("the reply is %+v; want no address to upload to", up)
	}
	return &upload{bench: b, id: up.Video.ID}
}

// until waits for a video to be as wanted.
func (u *upload) until(t *testing.T, what string, as func(video.Video) bool) video.Video {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s, err := u.Catalog.State(t.Context(), u.by, u.id)
		if err != nil {
			t.Fatal(err)
		}
		if as(s.Video) {
			return s.Video
		}
		if time.Now().After(end) {
			t.Fatalf("the video is %s %v at %g; want it %s", s.Video.Status, s.Video.Failure, s.Video.ImportProgress, what)
		}
	}
}

// wantFetched wants exactly these bytes to be accepted, and nothing else to be left.
func (u *upload) wantFetched(t *testing.T, whole []byte) {
	t.Helper()
	v := u.until(t, "fetched", func(v video.Video) bool { return v.Status != video.PendingUpload })
	if v.Status != video.Processing || v.ImportProgress != 1 || !v.Imported {
		t.Fatalf("the video is %s %v at %g; want it accepted", v.Status, v.Failure, v.ImportProgress)
	}
	o, err := u.blobs.Open(t.Context(), v.Source.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes are stored and differ from the %d of the file (%v)", len(got), len(whole), err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // they go after the commit
		if keys := u.stored(); len(keys) == 1 {
			return
		} else if time.Now().After(end) {
			t.Fatalf("stored are %q; want the source alone", keys)
		}
	}
}

// wantFailed wants a failure with a sentence, and nothing to be left.
func (u *upload) wantFailed(t *testing.T, code video.FailureCode) {
	t.Helper()
	v := u.until(t, "failed", func(v video.Video) bool { return v.Status != video.PendingUpload })
	if v.Status != video.Fail || v.Failure.Code != code || len(v.Failure.Message) < 20 || strings.Contains(v.Failure.Message, "127.0.0") {
		t.Errorf("the video is %s %v; want it failed with %s", v.Status, v.Failure, code)
	}
	if v.Resolutions[0].Status != video.Fail || !v.Settled(time.Now().Add(time.Second)) {
		t.Errorf("the resolution is %s, and the video is waited for", v.Resolutions[0].Status)
	}
	if keys := u.stored(); len(keys) > 0 && code != video.ImportUnreachable {
		t.Errorf("of a file that failed, %q is left", keys)
	}
}

func TestFetchingAFile(t *testing.T) {
	t.Parallel()
	onBoth(t, checkFetching)
}

func checkFetching(t *testing.T, b *bench) {
	b.runImports()
	o := newOrigin(t)
	whole, other := content(3*mib+17), content(2*mib+5)
	other[len(other)-1] ^= 1
	const dated = "Mon, 02 Jan 2023 15:04:05 GMT"
	tagged := file(whole, "ETag", `"v1"`)
	good := map[string]http.HandlerFunc{
		"plain": file(whole), "cuts": cut(700_000, tagged), "cut-after-a-part": nth(cut(2*mib, tagged), tagged),
		"cuts-with-a-date": cut(700_000, file(whole, "Last-Modified", dated)),
		"weak":             nth(cut(mib, file(whole, "ETag", `W/"1"`)), file(whole, "ETag", `W/"1"`)),
		"no-ranges": nth(cut(mib, tagged), func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Range")
			tagged(w, r)
		}),
		"changed": nth(cut(mib, file(other, "ETag", `"v0"`)), tagged),
		"changed-and-If-Range-ignored": nth(cut(mib, file(other, "ETag", `"v0"`)), func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			tagged(w, r)
		}),
		"grown-and-If-Range-ignored": nth(cut(mib, file(whole[:2*mib], "Last-Modified", dated)), func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			file(whole)(w, r)
		}),
		"another-range": nth(cut(mib, tagged), func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				r.Header.Set("Range", "bytes=5-")
			}
			tagged(w, r)
		}),
		"chunked": chunked(whole), "chunked-and-cut": nth(cut(mib, chunked(whole)), chunked(whole)),
		"errors-first": nth(status(500), status(503), status(429), tagged),
		"redirects":    redirect("/4"), // and four more
		"small-cuts":   cut(100, file(whole[:1000], "ETag", `"s"`)),
	}
	for n := range 5 {
		o.mux.HandleFunc(fmt.Sprintf("/%d", n+1), redirect(fmt.Sprintf("/%d", n)))
	}
	o.mux.HandleFunc("/0", tagged)
	for name, handler := range good {
		o.mux.HandleFunc("/"+name, handler)
	}
	t.Run("all", func(t *testing.T) {
		for name := range good {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				want := whole
				if name == "small-cuts" {
					want = whole[:1000]
				}
				b.fetch(t, o.URL+"/"+name).wantFetched(t, want)
				checkRequests(t, name, o.seen("/"+name))
			})
		}
	})
	if b.parts() != 0 {
		t.Errorf("%d multipart uploads are left", b.parts())
	}
}

// checkRequests wants bytes that were received not to be asked for again.
func checkRequests(t *testing.T, name string, all []*http.Request) {
	t.Helper()
	if len(all) == 0 || all[0].Header.Get("Range") != "" || all[0].Header.Get("Accept-Encoding") != "identity" {
		t.Fatalf("the requests are %v", all)
	}
	if !strings.Contains(name, "cut") {
		return
	}
	for _, r := range all[1:] {
		if r.Header.Get("Range") == "" || r.Header.Get("If-Range") == "" {
			t.Errorf("after a cut, the headers are %v; want Range and If-Range", r.Header)
		}
	}
}

func TestFilesThatAreNotFetched(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	b.runImports()
	o := newOrigin(t)
	_, port, _ := net.SplitHostPort(o.Listener.Addr().String())
	tests := map[string]struct {
		handler http.HandlerFunc
		code    video.FailureCode
	}{
		"missing":   {status(404), video.ImportRefused},
		"forbidden": {status(403), video.ImportRefused},
		"gone":      {status(410), video.ImportRefused},
		"nothing":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, video.ImportRefused},
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<!DOCTYPE html><html><title>Hello</title><body>"+strings.Repeat("<p>Hello</p>", 100)+"</body></html>")
		}, video.NotAVideo},
		"empty": {func(http.ResponseWriter, *http.Request) {}, video.UploadEmpty},
		"empty-and-chunked": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
		}, video.UploadEmpty},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(content(5000))
		}, video.ImportRefused},
		"partial":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPartialContent) }, video.ImportRefused},
		"loop":     {redirect("/loop"), video.ImportRefused},
		"too-long": {redirect("/long/6"), video.ImportRefused},
		"too-large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(limit+1))
			_, _ = w.Write(content(5000))
		}, video.ImportTooLarge},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for noise := content(mib); ; {
				if _, err := w.Write(noise); err != nil {
					return
				}
			}
		}, video.ImportTooLarge},
		"to-a-file": {redirect("file:///etc/passwd"), video.ImportNotAllowed},
		"to-ftp":    {redirect("ftp://example.com/a.mp4"), video.ImportNotAllowed},
		"to-a-name": {redirect("http://localhost:" + port + "/fine"), video.ImportNotAllowed}, // found out by DNS
	}
	for i, host := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "0",
		"169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "10.0.0.1", "192.168.0.1", "100.100.100.200",
	} {
		tests[fmt.Sprintf("to-%d", i)] = struct {
			handler http.HandlerFunc
			code    video.FailureCode
		}{redirect("http://" + host + ":" + port + "/fine"), video.ImportNotAllowed}
		for _, scheme := range []string{"http", "https"} {
			if err := b.Imports.Check(scheme + "://" + host + "/a.mp4"); video.KindOf(err) != video.Invalid {
				t.Errorf("Check of %s by %s: %v; want it refused", host, scheme, err)
			}
		}
	}
	for n := range 6 {
		o.mux.HandleFunc(fmt.Sprintf("/long/%d", n+1), redirect(fmt.Sprintf("/long/%d", n)))
	}
	o.mux.HandleFunc("/fine", file(content(5000)))
	o.mux.HandleFunc("/long/0", file(content(5000)))
	for name, tt := range tests {
		o.mux.HandleFunc("/"+name, tt.handler)
	}
	t.Run("all", func(t *testing.T) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b.fetch(t, o.URL+"/"+name).wantFailed(t, tt.code)
			})
		}
		t.Run("a name", func(t *testing.T) { // not judged before DNS
			t.Parallel()
			b.fetch(t, "https://localhost:"+port+"/fine").wantFailed(t, video.ImportNotAllowed)
		})
	})
	if len(o.seen("/fine")) > 0 {
		t.Error("a request reached an address that is not allowed")
	}
}

func TestServersThatAreGivenUp(t *testing.T) {
	t.Parallel()
	b := onDiskAt(t, impatient)
	b.runImports()
	o := newOrigin(t)
	closed, err := net.Listen("tcp", originAddress+":0")
	b.must(err)
	b.must(closed.Close())
	drip := func(every time.Duration, bytes int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			for {
				if _, err := w.Write(content(bytes)); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(every):
				case <-r.Context().Done():
					return
				}
			}
		}
	}
	whole := content(5000)
	tests := map[string]struct {
		handler http.HandlerFunc
		code    video.FailureCode
	}{
		"silent":          {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, video.ImportUnreachable},
		"a-byte-a-minute": {drip(time.Minute, 1), video.ImportUnreachable},
		"slow":            {drip(20*time.Millisecond, 40), video.ImportUnreachable},
		"shorter-than-announced": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "6000")
			_, _ = w.Write(whole)
		}, video.ImportUnreachable},
		"aborts": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, video.ImportUnreachable},
		"broken": {status(500), video.ImportRefused},
	}
	for name, tt := range tests {
		o.mux.HandleFunc("/"+name, tt.handler)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.fetch(t, o.URL+"/"+name).wantFailed(t, tt.code)
			if n := len(o.seen("/" + name)); n < 2 {
				t.Errorf("there was %d request; want more tries", n)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		b.fetch(t, "http://"+closed.Addr().String()+"/a.mp4").wantFailed(t, video.ImportUnreachable)
	})
	t.Run("no such host", func(t *testing.T) {
		t.Parallel()
		b.fetch(t, "https://does-not-exist.invalid/a.mp4").wantFailed(t, video.ImportUnreachable)
	})
}
