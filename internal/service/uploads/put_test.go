package uploads_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// hanging is a body that brings some bytes, and then none until it is stopped.
type hanging struct {
	bytes   int
	once    sync.Once
	hangs   chan struct{} // closed when all bytes were read
	stopped chan struct{}
}

func newHanging(bytes int) *hanging {
	return &hanging{bytes: bytes, hangs: make(chan struct{}), stopped: make(chan struct{})}
}

func (h *hanging) Read(p []byte) (int, error) {
	if n := min(h.bytes, len(p)); n > 0 {
		h.bytes -= n
		return n, nil
	}
	h.once.Do(func() { close(h.hangs) })
	<-h.stopped
	return 0, os.ErrDeadlineExceeded
}

// begin sends a PUT that hangs after some bytes, and returns its result.
func (h *hanging) begin(b *servicetest.Rig, in uploads.Incoming) (result chan error) {
	in.Body, in.Length, in.Stop = h, 1<<19, func() { close(h.stopped) }
	result = make(chan error, 1)
	go func() { _, err := b.Uploads.Receive(b.T.Context(), in); result <- err }()
	<-h.hangs
	return result
}

// stored returns how many bytes the files below a folder have.
func stored(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// checking calls check before its first byte.
type checking struct {
	io.Reader
	check func()
}

func (c *checking) Read(p []byte) (int, error) {
	if c.check != nil {
		c.check()
		c.check = nil
	}
	return c.Reader.Read(p)
}

// Many PUTs to one address must not fill the disk: the later one wins, and what the earlier one brought
// is gone before the first byte of the later one is stored.
func TestALaterPutEndsTheEarlierOne(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	first := newHanging(300_000)
	result := first.begin(b, b.Incoming(up, nil))
	before := stored(t, b.Dir)
	if before < 300_000 {
		t.Fatalf("%d bytes are stored while the first PUT goes on", before)
	}
	second := b.Incoming(up, servicetest.LikeVideo)
	second.Body = &checking{second.Body, func() {
		if left := stored(t, b.Dir); left > before-300_000 {
			t.Errorf("%d bytes are stored when the second PUT begins; want those of the first gone", left)
		}
	}}
	_, err := b.Uploads.Receive(t.Context(), second)
	b.Must(err)
	servicetest.WantCode(t, <-result, video.Conflict, "upload_replaced")
	v, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	if err != nil || b.Video(v.ID).Source.Size != int64(len(servicetest.LikeVideo)) {
		t.Errorf("the upload is completed as %+v, %v; want the file of the second PUT", b.Video(v.ID).Source, err)
	}
}

func TestPutsAndResumableUploadsExcludeEachOther(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable)
	up := b.Create(video.Draft{})
	asked := make(chan struct{})
	lease, err := b.Leases.Acquire(t.Context(), up.Video.ID, func() { close(asked) })
	b.Must(err)
	put := newHanging(10)
	go func() {
		<-asked
		select {
		case <-put.hangs:
			t.Error("the PUT is read while a request of tus has the upload")
		default:
		}
		lease.Release()
	}()
	result := put.begin(b, b.Incoming(up, nil))
	lease, err = b.Leases.Acquire(t.Context(), up.Video.ID, func() {})
	b.Must(err)
	defer lease.Release()
	servicetest.WantCode(t, <-result, video.Conflict, "upload_replaced")
}

// A shutdown lets PUTs end: they cannot be resumed.
func TestAShutdownDoesNotInterruptAPut(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	put := newHanging(10)
	result := put.begin(b, b.Incoming(b.Create(video.Draft{}), nil))
	b.Leases.InterruptAll()
	select {
	case err := <-result:
		t.Errorf("the PUT ends with %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(put.stopped)
	<-result
}

func TestADeletionEndsAPut(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	result := newHanging(10).begin(b, b.Incoming(up, nil))
	b.Must(b.DeleteVideo(t.Context(), b.By, up.Video.ID))
	servicetest.WantCode(t, <-result, video.NotFound, "video_not_found")
	if keys := b.Objects(); len(keys) != 0 {
		t.Errorf("the PUT left %v", keys)
	}
}

// pacing brings bytes at a pace, by the clock of a rig.
type pacing struct {
	b     *servicetest.Rig
	each  int // bytes of a read
	pause time.Duration
	reads int
}

func (p *pacing) Read(buf []byte) (int, error) {
	if p.reads--; p.reads < 0 {
		return 0, io.EOF
	}
	p.b.Advance(p.pause)
	return min(p.each, len(buf)), nil
}

func TestTheSpeedOfAPut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		body pacing
		ttl  time.Duration
		code string
	}{
		{"16 KB/s for half an hour", pacing{each: 16_000, pause: time.Second, reads: 1800}, time.Hour, ""},
		{"13 KB/s in bursts", pacing{each: 130_000, pause: 10 * time.Second, reads: 100}, time.Hour, ""},
		{"3 KB/s", pacing{each: 90_000, pause: 30 * time.Second, reads: 20}, time.Hour, "upload_stalled"},
		{"a byte each half a minute", pacing{each: 1, pause: 30 * time.Second, reads: 1000}, time.Hour, "upload_stalled"},
		{"a short file, slowly", pacing{each: 10, pause: 30 * time.Second, reads: 3}, time.Hour, ""},
		{"past the end of its address", pacing{each: 100_000, pause: 6 * time.Second, reads: 100}, time.Minute, ""},
		{"until the upload is abandoned", pacing{each: 100_000, pause: 6 * time.Second, reads: 1000}, time.Minute, "url_expired"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t, func(c *servicetest.Config) {
				c.Uploads.MaxBytes, c.Uploads.URLTTL, c.AbandonedAfter = 1<<30, tt.ttl, 10*time.Minute
			})
			in := b.Incoming(b.Create(video.Draft{}), nil)
			tt.body.b = b
			in.Body, in.Length = &tt.body, -1
			_, err := b.Uploads.Receive(t.Context(), in)
			if got := servicetest.CodeOf(err); got != tt.code || (err == nil) != (tt.code == "") {
				t.Errorf("the upload ends after %s with %v; want %q", b.Now().Sub(servicetest.Start), err, tt.code)
			}
			if tt.code != "" && len(b.Objects()) != 0 {
				t.Errorf("it left %q", b.Objects())
			}
		})
	}
}
