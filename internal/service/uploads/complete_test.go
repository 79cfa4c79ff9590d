package uploads_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestCompleteUploadRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		body []byte // nil: no PUT at all
		kind video.Kind
		code video.FailureCode
	}{
		{"nothing was uploaded", nil, video.Unprocessable, video.UploadMissing},
		{"an empty file", []byte{}, video.Unprocessable, video.UploadEmpty},
		{"a text", []byte("#EXTM3U\n/etc/passwd\n"), video.Unprocessable, video.NotAVideo},
		{"a web page", []byte("<!doctype html><p>hello"), video.Unprocessable, video.NotAVideo},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t)
			up := b.Create(video.Draft{})
			if tt.body != nil {
				b.Put(up, tt.body)
			}
			_, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
			servicetest.WantCode(t, err, tt.kind, string(tt.code))
			v := b.Video(up.Video.ID)
			if v.Status != video.Fail || v.Failure == nil || v.Failure.Code != tt.code || v.Resolutions[0].Status != video.Fail {
				t.Fatalf("video = %s %v; want fail with %s everywhere", v.Status, v.Failure, tt.code)
			}
			if n := b.Waiting()[queue.Inspect]; n != 0 {
				t.Fatalf("%d tasks queued for a refused upload", n)
			}

			b.Put(up, servicetest.LikeVideo)
			v, err = b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
			if err != nil || v.Status != video.Processing || v.Failure != nil || v.Resolutions[1].Status != video.Processing {
				t.Fatalf("second try = %s %v, %v; want processing everywhere", v.Status, v.Failure, err)
			}
		})
	}
}

func TestWhatWasVerifiedIsWhatIsTranscoded(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	b.Put(up, servicetest.LikeVideo)
	late := b.Incoming(up, []byte("evil"))
	gate, opened := make(chan struct{}), make(chan struct{})
	late.Body = &gated{r: late.Body, opened: opened, gate: gate}
	result := make(chan error)
	go func() { _, err := b.Uploads.Receive(t.Context(), late); result <- err }()
	<-opened // the second PUT has begun when the first is completed

	v, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	b.Must(err)
	close(gate)
	servicetest.WantCode(t, <-result, video.Conflict, "upload_closed")
	_, err = b.Uploads.Receive(t.Context(), b.Incoming(up, []byte("evil")))
	servicetest.WantCode(t, err, video.Conflict, "upload_closed")

	source := b.Video(v.ID).Source
	o, err := b.Blobs.Open(t.Context(), source.Key)
	b.Must(err)
	if got := servicetest.ReadAll(t, o); got != string(servicetest.LikeVideo) {
		t.Errorf("the source is %q", got)
	}
	if keys := b.Objects(); !slices.Equal(keys, []string{source.Key}) {
		t.Errorf("objects = %v; want the source alone", keys)
	}
}

// gated reports its first read and holds it until the gate opens.
type gated struct {
	r            io.Reader
	once         sync.Once
	opened, gate chan struct{}
}

func (g *gated) Read(p []byte) (int, error) {
	g.once.Do(func() { close(g.opened) })
	<-g.gate
	return g.r.Read(p)
}

func TestRacingCompletesMakeOneJob(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	b.Put(up, servicetest.LikeVideo)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
			if err != nil || v.Status != video.Processing {
				t.Errorf("Complete = %s, %v; want processing", v.Status, err)
			}
		})
	}
	wg.Wait()
	if n := b.Waiting()[queue.Inspect]; n != 1 {
		t.Errorf("%d inspections queued, want 1", n)
	}
	if keys := b.Objects(); len(keys) != 1 || !strings.HasPrefix(keys[0], "source/") {
		t.Errorf("objects = %v; want one source", keys)
	}
	v, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	if err != nil || v.Status != video.Processing {
		t.Errorf("another Complete = %s, %v; want the present status", v.Status, err)
	}
}

// leaving is a storage whose copy takes longer than the client waits.
type leaving struct {
	blob.Store
	hangUp func()
}

func (l *leaving) Copy(ctx context.Context, from, to, etag string) (blob.Info, error) {
	l.hangUp()
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	return l.Store.Copy(ctx, from, to, etag)
}

// Copying a large rendition takes minutes in some storages, and a proxy cuts the
// request off: without this no call would ever come to an end.
func TestACompleteGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	away := new(leaving)
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { away.Store = s; return away })
	up := b.Create(video.Draft{})
	b.Put(up, servicetest.LikeVideo)
	ctx, cancel := context.WithCancel(t.Context())
	away.hangUp = cancel
	if v, err := b.Uploads.Complete(ctx, b.By, up.Video.ID); err != nil || v.Status != video.Processing {
		t.Errorf("Complete = %s, %v; want processing", v.Status, err)
	}
	if n := b.Waiting()[queue.Inspect]; n != 1 {
		t.Errorf("%d inspections queued, want 1", n)
	}
	if keys := b.Objects(); len(keys) != 1 || !strings.HasPrefix(keys[0], "source/") {
		t.Errorf("objects = %v; want one source", keys)
	}
}
