package app_test

import (
	"context"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// resumable as an option of a bench has uploads in pieces live two days, and
// those in one request an hour.
func resumable(c *app.Config) { c.ResumableURLTTL, c.MaxResumableBytes = 48*time.Hour, 1<<30 }

// tusToken is the signed part of the address for an upload in pieces.
func tusToken(up app.Upload) string { return path.Base(path.Dir(up.TusURL)) }

// begin begins an upload in pieces, of which a part is stored.
func (b *bench) begin(up app.Upload) {
	b.t.Helper()
	r, err := b.OpenResumable(b.t.Context(), tusToken(up), up.Video.ID)
	b.must(err)
	b.must(b.BeginResumable(b.t.Context(), r, 1000))
	for _, name := range []string{r.Key + ".info", r.Key + ".part"} {
		_, err := b.blobs.Put(b.t.Context(), name, strings.NewReader("half"))
		b.must(err)
	}
}

// tend does what a server does now and then.
func (b *bench) tend() {
	b.t.Helper()
	_, err := b.ExpireUploads(b.t.Context())
	b.must(err)
	_, err = b.Sweep(b.t.Context())
	b.must(err)
}

func TestNothingOfAResumableUploadGoesWhileItsAddressLives(t *testing.T) {
	t.Parallel()
	b := newBench(t, resumable)
	begun, idle := b.create(video.Draft{}), b.create(video.Draft{})
	b.begin(begun)
	open := func(up app.Upload) string {
		_, err := b.OpenResumable(t.Context(), tusToken(up), up.Video.ID)
		return codeOf(err)
	}
	left := func() int {
		n := 0
		for _, key := range b.keys() {
			if strings.Contains(key, string(begun.Video.ID)) {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		after       time.Duration
		begun, idle string // what their addresses are refused with
		left        int
	}{
		{0, "", "", 2},
		{26 * time.Hour, "", "url_expired", 2}, // an hour and a day: nobody ever began the idle one
		{47 * time.Hour, "", "url_expired", 2},
		{49 * time.Hour, "url_expired", "url_expired", 2},
		{73 * time.Hour, "url_expired", "url_expired", 0}, // a day after the address
	} {
		b.pass(b.begunAt().Add(step.after).Sub(b.now()))
		b.tend()
		if got := open(begun); got != step.begun {
			t.Errorf("after %s the address of the upload is refused with %q; want %q", step.after, got, step.begun)
		}
		if got := open(idle); got != step.idle {
			t.Errorf("after %s the address that nobody used is refused with %q; want %q", step.after, got, step.idle)
		}
		if got := left(); got != step.left {
			t.Errorf("after %s, %d objects of the upload are left; want %d", step.after, got, step.left)
		}
	}
}

// begunAt is when the clock of a bench begins.
func (b *bench) begunAt() time.Time { return time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC) }

func TestARepeatedCreateDoesNotShortenAResumableUpload(t *testing.T) {
	t.Parallel()
	b := newBench(t, resumable)
	d := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}, Key: "again"}
	up := b.create(d)
	b.begin(up)
	b.pass(time.Minute)
	if again := b.create(d); !again.Repeated || again.Video.UploadExpiresAt.Before(up.Video.CreatedAt.Add(47*time.Hour)) {
		t.Errorf("the repeated request is answered with an upload until %s (repeated: %t)", again.Video.UploadExpiresAt, again.Repeated)
	}
}

// TestAnUploadThatGoesOnAtALaterAddress lives as long as that address.
func TestAnUploadThatGoesOnAtALaterAddress(t *testing.T) {
	t.Parallel()
	b := newBench(t, resumable, func(c *app.Config) { c.AbandonedAfter = time.Hour })
	d := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}, Key: "again"}
	b.begin(b.create(d))
	b.pass(23 * time.Hour)
	later := b.create(d)
	r, err := b.OpenResumable(t.Context(), tusToken(later), later.Video.ID)
	b.must(err)
	b.must(b.ContinueResumable(t.Context(), r))
	b.pass(47 * time.Hour) // of the 48 that it was told
	b.tend()
	if _, err := b.OpenResumable(t.Context(), tusToken(later), later.Video.ID); err != nil || len(b.keys()) != 2 {
		t.Errorf("an hour before its end the address is refused with %v, and %q are stored; want the record and the bytes", err, b.keys())
	}
}

func TestAddressesOfOneKindAreNoneOfTheOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, resumable)
	up := b.create(video.Draft{})
	if _, err := b.OpenResumable(t.Context(), path.Base(path.Dir(up.URL)), up.Video.ID); codeOf(err) != "url_invalid" {
		t.Errorf("the address of a PUT is taken for one in pieces: %v", err)
	}
	_, err := b.ReceiveUpload(t.Context(), app.Incoming{Token: tusToken(up), Video: up.Video.ID, ContentType: "video/mp4", Body: strings.NewReader("x")})
	if codeOf(err) != "url_invalid" {
		t.Errorf("the address of an upload in pieces is taken for a PUT's: %v", err)
	}
}

// partly is a store that says which unfinished objects it was told to drop. As
// MinIO does it, it knows the prefixes of whole keys only.
type partly struct {
	blob.Store
	parts map[string]time.Time
}

func (p *partly) AbortUnfinished(_ context.Context, prefix string, drop func(string, time.Time) (bool, error)) (int, error) {
	n := 0
	for key, begun := range p.parts {
		gone, err := drop(key, begun)
		if err != nil {
			return n, err
		}
		if gone && (prefix == "" || key == prefix) {
			delete(p.parts, key)
			n++
		}
	}
	return n, nil
}

func TestPartsOfUploadsLiveAsLongAsTheirVideoWaits(t *testing.T) {
	t.Parallel()
	p := &partly{parts: map[string]time.Time{}}
	b := newBenchOn(t, func(s *disk.Store) blob.Store { p.Store = s; return p }, resumable)
	b.must(b.Claim(t.Context()))
	up := b.create(video.Draft{})
	b.begin(up)
	mine, stranger, film := "upload/"+string(up.Video.ID)+"/file", "upload/01a1e15d-3d49-796c-86d0-1f68082947f4/file", "public/x/720p.mp4"
	p.parts = map[string]time.Time{mine: b.now(), stranger: b.now(), film: b.now()}
	for _, step := range []struct {
		after   time.Duration
		aborted int
		left    string
	}{
		{time.Minute, 1, mine + " " + film},
		{50 * time.Hour, 1, mine}, // a film takes no two days
		{24 * time.Hour, 1, ""},
	} {
		b.pass(step.after)
		n, err := b.AbortUnfinished(t.Context())
		if err != nil || n != step.aborted {
			t.Errorf("%s later AbortUnfinished = %d, %v; want %d", step.after, n, err, step.aborted)
		}
		for key := range p.parts {
			if !strings.Contains(step.left, key) {
				t.Errorf("%s later the parts of %s are left", step.after, key)
			}
		}
	}
}

func TestADeletionTakesThePartsOfAnUpload(t *testing.T) {
	t.Parallel()
	p := &partly{}
	b := newBenchOn(t, func(s *disk.Store) blob.Store { p.Store = s; return p }, resumable)
	up := b.create(video.Draft{})
	p.parts = map[string]time.Time{"upload/" + string(up.Video.ID) + "/file": b.now()}
	stopped := make(chan struct{})
	hold, err := b.HoldUpload(t.Context(), up.Video.ID, func() { close(stopped) })
	b.must(err)
	defer hold.Release()
	b.must(b.DeleteVideo(t.Context(), b.by, up.Video.ID))
	<-stopped
	if len(p.parts) > 0 {
		t.Errorf("after the deletion there are the parts %v", p.parts)
	}
}

// TestHoldsAmongProcesses has two processes want the same upload: the one that
// has it is told so, and a dead one loses it.
func TestHoldsAmongProcesses(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	proxy := pgtest.NewProxy(t, address)
	same := func(s *disk.Store) blob.Store { return s }
	first, second := newPostgresBench(t, proxy.URL(), same), newPostgresBench(t, address, same)
	id := first.create(video.Draft{}).Video.ID
	stopped := make(chan struct{})
	hold, err := first.HoldUpload(t.Context(), id, func() { close(stopped) })
	first.must(err)
	if !hold.Lasts() {
		t.Error("a hold that was just taken does not last")
	}
	go func() {
		<-stopped
		hold.Release()
	}()
	next, err := second.HoldUpload(t.Context(), id, func() {})
	second.must(err)
	next.Release()
	if testing.Short() {
		t.Skip("the rest waits until a lease has ended")
	}

	lost := make(chan struct{})
	hold, err = first.HoldUpload(t.Context(), id, func() { close(lost) })
	first.must(err)
	proxy.Cut(t) // it is as good as dead: it cannot renew
	next, err = second.HoldUpload(t.Context(), id, func() {})
	second.must(err)
	defer next.Release()
	if hold.Lasts() {
		t.Error("two processes believe to hold the upload")
	}
	<-lost
}
