package tus_test

import (
	"bytes"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// onFleet returns a process of a fleet that shares a disk.
func onFleet(t *testing.T) *bench {
	return onDiskWith(t, &bench{timing: quick, address: pgtest.Fresh(t)})
}

// another returns another process of the same fleet.
func (b *bench) another() *bench {
	b.t.Helper()
	other := &bench{t: b.t, blobs: b.blobs, by: b.by, url: b.url, parts: b.parts, timing: b.timing, storage: b.storage, address: b.address}
	other.open()
	other.wire()
	return other
}

// What a process of a fleet has fetched when it is stopped, another one does not fetch again.
func TestAnotherProcessGoesOn(t *testing.T) {
	t.Parallel()
	b := onFleet(t)
	other := b.another()
	o, whole := newOrigin(t), content(3*mib)
	h := newHeld(whole, 2*mib)
	o.mux.Handle("/a", h)
	stop := b.runImports()
	u := b.fetch(t, o.URL+"/a")
	wait(t, "the first request", h.begun)
	u.until(t, "on its way", func(v video.Video) bool { return v.ImportProgress > 0.666 })
	stop()
	other.runImports()
	u.wantFetched(t, whole)
	if all := o.seen("/a"); len(all) != 2 || all[1].Header.Get("Range") != "bytes="+itoa(2*mib)+"-" {
		t.Errorf("%d requests; the last one has the headers %v", len(all), all[len(all)-1].Header)
	}
}

func TestADeletionByAnotherProcessEndsAFetch(t *testing.T) {
	t.Parallel()
	b := onFleet(t)
	other := b.another()
	o := newOrigin(t)
	h := newHeld(content(3*mib), 2*mib)
	o.mux.Handle("/a", h)
	b.runImports()
	u := b.fetch(t, o.URL+"/a")
	wait(t, "the request", h.begun)
	began := time.Now()
	b.must(other.DeleteVideo(t.Context(), b.by, u.id))
	wait(t, "the end of the request", h.left)
	t.Logf("the request ended after %s", time.Since(began))
	for end := time.Now().Add(time.Minute); len(u.stored()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("of a deleted video, %q is left", u.stored())
		}
	}
}

// A process that slept through the end of its lease leaves alone what others have stored since.
func TestALostLeaseRemovesNothing(t *testing.T) {
	t.Parallel()
	b := onFleet(t)
	o, whole := newOrigin(t), content(5000)
	var u *upload
	created := make(chan struct{})
	o.mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {
		<-created
		err := b.db.InTx(t.Context(), func(tx *store.Tx) error {
			n, err := tx.Exec(t.Context(), "take a lease", `UPDATE upload_lease SET token = 'another', process = 'another', ends_at = ends_at + 3600000 WHERE video_id = $1`, u.id)
			if n != 1 {
				t.Errorf("%d leases; want 1", n)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := b.blobs.Put(t.Context(), objects.Upload(u.id), bytes.NewReader(whole)); err != nil {
			t.Error(err)
		}
		http.NotFound(w, r)
	})
	b.runImports()
	u = b.fetch(t, o.URL+"/a")
	close(created)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, ended := b.tries.counted(); ended > 0 {
			break
		} else if time.Now().After(end) {
			t.Fatal("the try does not end")
		}
	}
	if keys := u.stored(); len(keys) != 1 || keys[0] != objects.Upload(u.id) {
		t.Errorf("stored are %q; want what the other has stored", keys)
	}
	if s, err := b.Catalog.State(t.Context(), b.by, u.id); err != nil || s.Video.Status != video.PendingUpload {
		t.Errorf("the video is %s, %v", s.Video.Status, err)
	}
}
