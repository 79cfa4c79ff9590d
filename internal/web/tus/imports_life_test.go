package tus_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/tus"
)

// held serves a file, of which it keeps the rest until it is released or the client goes.
type held struct {
	whole   []byte
	first   int
	begun   chan struct{} // gets a value for each request
	release chan struct{}
	left    chan struct{} // gets a value for each client that went
}

func newHeld(whole []byte, first int) *held {
	return &held{whole, first, make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100)}
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Range") != "" {
		file(h.whole, "ETag", `"h"`)(w, r)
		return
	}
	w.Header().Set("ETag", `"h"`)
	w.Header().Set("Content-Length", itoa(len(h.whole)))
	_, _ = w.Write(h.whole[:h.first])
	_ = http.NewResponseController(w).Flush()
	h.begun <- struct{}{}
	select {
	case <-h.release:
		_, _ = w.Write(h.whole[h.first:])
	case <-r.Context().Done():
		h.left <- struct{}{}
	}
}

// wait waits for a value, but not for ever.
func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: nothing happened", what)
	}
}

// What was fetched when the process was stopped is not fetched again.
func TestAStoppedFetchGoesOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		o, whole := newOrigin(t), content(3*mib)
		h := newHeld(whole, 2*mib)
		o.mux.Handle("/a", h)
		stop := b.runImports()
		u := b.fetch(t, o.URL+"/a")
		wait(t, "the first request", h.begun)
		v := u.until(t, "on its way", func(v video.Video) bool { return v.ImportProgress > 0.666 })
		if v.ImportProgress > 0.7 || v.Status != video.PendingUpload {
			t.Errorf("two thirds were fetched: the video is %s at %g", v.Status, v.ImportProgress)
		}
		stop()
		b.runImports()
		u.wantFetched(t, whole)
		if all := o.seen("/a"); len(all) != 2 || all[1].Header.Get("Range") != "bytes="+itoa(2*mib)+"-" {
			t.Errorf("%d requests; the last one has the headers %v", len(all), all[len(all)-1].Header)
		}
	})
}

// A backup has the row of an import and not the bytes that were fetched.
func TestAFetchWithoutWhatWasStoredBeginsAgain(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(3*mib)
	h := newHeld(whole, 2*mib)
	o.mux.Handle("/a", nth(h.ServeHTTP, file(whole, "ETag", `"h"`)))
	stop := b.runImports()
	u := b.fetch(t, o.URL+"/a")
	wait(t, "the first request", h.begun)
	stop()
	b.must(b.Uploads.Discard(t.Context(), u.id))
	b.runImports()
	u.wantFetched(t, whole)
	if all := o.seen("/a"); len(all) != 2 || all[1].Header.Get("Range") != "" {
		t.Errorf("%d requests; the last one has the headers %v", len(all), all[len(all)-1].Header)
	}
}

// A task may run twice, also after its import has ended.
func TestAnImportThatEndedIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(5000)
	o.mux.HandleFunc("/a", file(whole))
	b.runImports()
	good, bad := b.fetch(t, o.URL+"/a"), b.fetch(t, o.URL+"/b")
	good.wantFetched(t, whole)
	bad.wantFailed(t, video.ImportRefused)
	again := b.Imports.Handler(tus.Imports(b.uploadServices(), b.storage))
	for _, id := range []video.ID{good.id, bad.id, "no-such-video"} {
		if err := again(t.Context(), queue.Task{Kind: queue.Import, Video: id}); err != nil {
			t.Errorf("the task of an import that ended fails: %v", err)
		}
	}
	if a, b := len(o.seen("/a")), len(o.seen("/b")); a != 1 || b != 1 {
		t.Errorf("%d and %d requests; want one each", a, b)
	}
	good.wantFetched(t, whole)
	bad.wantFailed(t, video.ImportRefused)
}

// A server that cuts every connection early lets nobody believe that nothing arrives.
func TestTheProgressOfTriesThatAreCutShort(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(3*mib)
	made, told := make(chan video.ID, 1), make(chan float64, 100)
	o.mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"h"`)
		if r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", itoa(len(whole)))
			_, _ = w.Write(whole[:2*mib])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		id := <-made
		s, err := b.Catalog.State(r.Context(), b.by, id)
		if err != nil {
			t.Error(err)
		}
		made <- id
		told <- s.Video.ImportProgress
		file(whole, "ETag", `"h"`)(w, r)
	})
	b.runImports()
	u := b.fetch(t, o.URL+"/a")
	made <- u.id
	u.wantFetched(t, whole)
	if got := <-told; got < 0.1 || got > 0.7 {
		t.Errorf("after a try that was cut off, the progress is %g", got)
	}
}

func TestADeletionEndsAFetch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		o := newOrigin(t)
		h := newHeld(content(3*mib), 2*mib)
		o.mux.Handle("/a", h)
		b.runImports()
		u := b.fetch(t, o.URL+"/a")
		wait(t, "the request", h.begun)
		b.must(b.DeleteVideo(t.Context(), b.by, u.id))
		wait(t, "the end of the request", h.left)
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if keys := u.stored(); len(keys) == 0 && b.parts() == 0 {
				break
			} else if time.Now().After(end) {
				t.Fatalf("of a deleted video, %q and %d multipart uploads are left", keys, b.parts())
			}
		}
	})
}

func TestAFailedImportIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(5000)
	var there atomic.Bool
	o.mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {
		if there.Load() {
			file(whole)(w, r)
		} else {
			http.NotFound(w, r)
		}
	})
	b.runImports()
	u := b.fetch(t, o.URL+"/a")
	u.wantFailed(t, video.ImportRefused)
	if _, err := b.Uploads.Complete(t.Context(), b.by, u.id); video.KindOf(err) != video.Conflict {
		t.Errorf("completing an import: %v; want a conflict", err)
	}
	there.Store(true)
	for range 2 { // the second one finds it under way, or done
		if s, err := b.Catalog.RetryImport(t.Context(), b.by, u.id); err == nil && s.Video.Status == video.Fail {
			t.Errorf("after another try was asked for, the video is %s %v", s.Video.Status, s.Video.Failure)
		} else if err != nil && video.KindOf(err) != video.Conflict {
			t.Error(err)
		}
	}
	u.wantFetched(t, whole)
	_, err := b.Catalog.RetryImport(t.Context(), b.by, u.id)
	wantCode(t, err, video.Conflict, "upload_closed")
	_, err = b.Catalog.RetryImport(t.Context(), b.by, b.create(whole).id)
	wantCode(t, err, video.Conflict, "not_an_import")
	stranger, _, err := b.Keys.Create(t.Context(), auth.Key{Tenant: "other"})
	b.must(err)
	other, err := b.Keys.Authenticate(t.Context(), stranger)
	b.must(err)
	_, err = b.Catalog.RetryImport(t.Context(), other, u.id)
	wantCode(t, err, video.NotFound, "video_not_found")
}

func wantCode(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	if e, ok := err.(*video.Error); !ok || e.Kind != kind || e.Code != code {
		t.Errorf("the error is %v; want %s", err, code)
	}
}

func TestAFullDiskDelaysAFetch(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(5000)
	o.mux.HandleFunc("/a", file(whole))
	var free, asked atomic.Int64
	free.Store(1 << 40)
	b.left = func() uint64 { asked.Add(1); return uint64(free.Load()) }
	u := b.fetch(t, o.URL+"/a")
	free.Store(100)
	asked.Store(0)
	b.runImports()
	for end := time.Now().Add(2 * time.Minute); asked.Load() < 3; time.Sleep(10 * time.Millisecond) { // it is tried again
		if time.Now().After(end) {
			t.Fatal("nobody asks whether there is space")
		}
	}
	u.until(t, "waiting", func(v video.Video) bool { return v.Status == video.PendingUpload })
	free.Store(1 << 40)
	u.wantFetched(t, whole)
}

func TestLimitsOfATenantStopAFetch(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(5000)
	o.mux.HandleFunc("/a", file(whole))
	o.mux.HandleFunc("/b", chunked(whole))
	set := func(l video.Limits) {
		_, err := b.Tenants.SetLimits(t.Context(), b.by.Tenant, func(now *video.Limits) { *now = l })
		b.must(err)
	}
	set(video.Limits{Bytes: 4999})
	stop := b.runImports()
	b.fetch(t, o.URL+"/a").wantFailed(t, video.QuotaExceeded)
	b.fetch(t, o.URL+"/b").wantFailed(t, video.QuotaExceeded)
	stop()

	set(video.Limits{})
	first, second := b.fetch(t, o.URL+"/a"), b.fetch(t, o.URL+"/b")
	set(video.Limits{InWork: 1})
	b.runImports()
	for _, path := range []string{"/a", "/b"} { // both are fetched, and one waits
		for end := time.Now().Add(2 * time.Minute); len(o.seen(path)) < 2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is not fetched", path)
			}
		}
	}
	set(video.Limits{})
	first.wantFetched(t, whole)
	second.wantFetched(t, whole)
}

// A tenant with many slow files leaves slots for others.
func TestTenantsShareTheSlots(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(5000)
	h := newHeld(whole, 100)
	o.mux.Handle("/slow", h)
	o.mux.HandleFunc("/fast", file(whole))
	var slow []*upload
	for range 10 {
		slow = append(slow, b.fetch(t, o.URL+"/slow"))
	}
	b.runImports()
	for range 8 { // half of the slots
		wait(t, "a slow file", h.begun)
	}
	b.as("other").fetch(t, o.URL+"/fast").wantFetched(t, whole)
	if most, _ := b.tries.counted(); most > 8+1 {
		t.Errorf("%d files are fetched at a time; want half of the slots for the slow ones, and one more", most)
	}
	close(h.release)
	for _, u := range slow {
		u.wantFetched(t, whole)
	}
}

// as returns a client of another tenant.
func (b *bench) as(tenant video.Tenant) *bench {
	b.t.Helper()
	secret, _, err := b.Keys.Create(b.t.Context(), auth.Key{Tenant: tenant})
	b.must(err)
	by, err := b.Keys.Authenticate(b.t.Context(), secret)
	b.must(err)
	return &bench{Services: b.Services, t: b.t, blobs: b.blobs, by: by, url: b.url}
}

// Two tenants with many slow files leave a slot for a third, and the file that was interrupted for it arrives whole.
func TestSlowFilesOfTwoTenantsAreInterrupted(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	o, whole := newOrigin(t), content(20_000)
	h := newHeld(whole, 10_000)
	o.mux.Handle("/slow", h)
	o.mux.HandleFunc("/fast", file(whole))
	var slow []*upload
	for _, tenant := range []*bench{b.as("second"), b.as("third")} {
		for range slots / 2 {
			slow = append(slow, tenant.fetch(t, o.URL+"/slow"))
		}
	}
	b.runImports()
	for range slots {
		wait(t, "a slow file", h.begun)
	}
	b.fetch(t, o.URL+"/fast").wantFetched(t, whole)
	wait(t, "the end of one that was interrupted", h.left)
	close(h.release)
	for _, u := range slow {
		u.wantFetched(t, whole)
	}
	if all := o.seen("/slow"); len(all) != slots+1 || all[slots].Header.Get("Range") != "bytes=10000-" {
		t.Errorf("%d requests; the last one has the headers %v; want one to go on where it was", len(all), all[len(all)-1].Header)
	}
}

// The beginning of a file is judged also if it arrives in pieces.
func TestABeginningThatBreaksOffIsJudged(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	b.runImports()
	o := newOrigin(t)
	junk := file([]byte(strings.Repeat("no video ", mib)), "ETag", `"v1"`)
	var sent atomic.Int64
	o.mux.HandleFunc("/junk", nth(cut(4000, junk), func(w http.ResponseWriter, r *http.Request) { junk(&countedWriter{w, &sent}, r) }))
	whole := content(12_000)
	o.mux.HandleFunc("/film", cut(4000, file(whole, "ETag", `"v1"`))) // always
	b.fetch(t, o.URL+"/junk").wantFailed(t, video.NotAVideo)
	if all := o.seen("/junk"); len(all) != 2 || all[1].Header.Get("Range") != "" {
		t.Errorf("%d requests; the last one has the headers %v; want it to begin again", len(all), all[len(all)-1].Header)
	}
	if n := sent.Load(); n == 0 || n >= 9*mib {
		t.Errorf("%d bytes of no video were fetched", n)
	}
	b.fetch(t, o.URL+"/film").wantFetched(t, whole)
}

// countedWriter counts what a client takes.
type countedWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}
