package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func TestContentTypeFollowsTheExtension(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, want := range map[string]string{
		"a.mp4": "video/mp4", "HOLIDAY.MOV": "video/quicktime", "x.MkV": "video/x-matroska", "clip.m2ts": "video/mp2t",
		"noextension": "application/octet-stream", "odd.xyz": "application/octet-stream", "../../etc/passwd": "application/octet-stream",
	} {
		if got := b.create(video.Draft{Filename: name}).Video.ContentType; got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}

func TestReceiveUploadRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.create(video.Draft{})
	tests := []struct {
		name   string
		change func(*app.Incoming)
		kind   video.Kind
		code   string
	}{
		{"another content type", func(in *app.Incoming) { in.ContentType = "video/webm" }, video.Forbidden, "content_type_mismatch"},
		{"a content type with parameters", func(in *app.Incoming) { in.ContentType += "; x=y" }, video.Forbidden, "content_type_mismatch"},
		{"a forged token", func(in *app.Incoming) { in.Token = "9999999999.abcd.AAAA" }, video.Forbidden, "url_invalid"},
		{"no token", func(in *app.Incoming) { in.Token = "" }, video.Forbidden, "url_invalid"},
		{"another video's token", func(in *app.Incoming) { in.Video = other.Video.ID }, video.Forbidden, "url_invalid"},
		{"a length over the limit", func(in *app.Incoming) { in.Length = 1<<20 + 1 }, video.TooLarge, "file_too_large"},
		{"a body over the limit", func(in *app.Incoming) { in.Length, in.Body = -1, bytes.NewReader(make([]byte, 1<<20+1)) }, video.TooLarge, "file_too_large"},
		{"a broken connection", func(in *app.Incoming) { in.Body = io.MultiReader(in.Body, iotest.ErrReader(io.ErrUnexpectedEOF)) }, video.Invalid, "upload_interrupted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := b.incoming(b.create(video.Draft{}), beginsLikeVideo)
			tt.change(&in)
			_, err := b.ReceiveUpload(t.Context(), in)
			wantCode(t, err, tt.kind, tt.code)
			if keys := b.keys(); len(keys) != 0 {
				t.Errorf("a refused upload left %v", keys)
			}
		})
	}
}

func TestUploadAddressExpiresToTheSecond(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	up := b.create(video.Draft{})
	b.pass(up.Video.UploadExpiresAt.Sub(b.now()) - time.Second)
	b.put(up, beginsLikeVideo)
	b.pass(time.Second)
	_, err := b.ReceiveUpload(t.Context(), b.incoming(up, beginsLikeVideo))
	wantCode(t, err, video.Forbidden, "url_expired")
}

func TestRepeatedPutReplacesTheWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	up := b.create(video.Draft{})
	b.put(up, []byte("something longer that is no video at all"))
	b.put(up, beginsLikeVideo)
	v, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	if err != nil || v.Status != video.Processing {
		t.Fatalf("CompleteUpload = %s, %v; want processing", v.Status, err)
	}
	if got := b.video(v.ID).Source.Size; got != int64(len(beginsLikeVideo)) {
		t.Errorf("source has %d bytes, want %d", got, len(beginsLikeVideo))
	}
}

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
			b := newBench(t)
			up := b.create(video.Draft{})
			if tt.body != nil {
				b.put(up, tt.body)
			}
			_, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
			wantCode(t, err, tt.kind, string(tt.code))
			v := b.video(up.Video.ID)
			if v.Status != video.Fail || v.Failure == nil || v.Failure.Code != tt.code || v.Resolutions[0].Status != video.Fail {
				t.Fatalf("video = %s %v; want fail with %s everywhere", v.Status, v.Failure, tt.code)
			}
			if n := b.waiting()[queue.Inspect]; n != 0 {
				t.Fatalf("%d tasks queued for a refused upload", n)
			}

			b.put(up, beginsLikeVideo)
			v, err = b.CompleteUpload(t.Context(), b.by, up.Video.ID)
			if err != nil || v.Status != video.Processing || v.Failure != nil || v.Resolutions[1].Status != video.Processing {
				t.Fatalf("second try = %s %v, %v; want processing everywhere", v.Status, v.Failure, err)
			}
		})
	}
}

func TestWhatWasVerifiedIsWhatIsTranscoded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	up := b.create(video.Draft{})
	b.put(up, beginsLikeVideo)
	late := b.incoming(up, []byte("evil"))
	gate, opened := make(chan struct{}), make(chan struct{})
	late.Body = &gated{r: late.Body, opened: opened, gate: gate}
	result := make(chan error)
	go func() { _, err := b.ReceiveUpload(t.Context(), late); result <- err }()
	<-opened // the second PUT has begun when the first is completed

	v, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	b.must(err)
	close(gate)
	wantCode(t, <-result, video.Conflict, "upload_closed")
	_, err = b.ReceiveUpload(t.Context(), b.incoming(up, []byte("evil")))
	wantCode(t, err, video.Conflict, "upload_closed")

	source := b.video(v.ID).Source
	o, err := b.blobs.Open(t.Context(), source.Key)
	b.must(err)
	if got := readAll(t, o); got != string(beginsLikeVideo) {
		t.Errorf("the source is %q", got)
	}
	if keys := b.keys(); !slices.Equal(keys, []string{source.Key}) {
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
	b := newBench(t)
	up := b.create(video.Draft{})
	b.put(up, beginsLikeVideo)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
			if err != nil || v.Status != video.Processing {
				t.Errorf("CompleteUpload = %s, %v; want processing", v.Status, err)
			}
		})
	}
	wg.Wait()
	if n := b.waiting()[queue.Inspect]; n != 1 {
		t.Errorf("%d inspections queued, want 1", n)
	}
	if keys := b.keys(); len(keys) != 1 || !strings.HasPrefix(keys[0], "source/") {
		t.Errorf("objects = %v; want one source", keys)
	}
	v, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	if err != nil || v.Status != video.Processing {
		t.Errorf("another CompleteUpload = %s, %v; want the present status", v.Status, err)
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

// Copying a large film takes minutes in some storages, and a proxy cuts the
// request off: without this no call would ever come to an end.
func TestACompleteGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	away := new(leaving)
	b := newBenchOn(t, func(s *disk.Store) blob.Store { away.Store = s; return away })
	up := b.create(video.Draft{})
	b.put(up, beginsLikeVideo)
	ctx, cancel := context.WithCancel(t.Context())
	away.hangUp = cancel
	if v, err := b.CompleteUpload(ctx, b.by, up.Video.ID); err != nil || v.Status != video.Processing {
		t.Errorf("CompleteUpload = %s, %v; want processing", v.Status, err)
	}
	if n := b.waiting()[queue.Inspect]; n != 1 {
		t.Errorf("%d inspections queued, want 1", n)
	}
	if keys := b.keys(); len(keys) != 1 || !strings.HasPrefix(keys[0], "source/") {
		t.Errorf("objects = %v; want one source", keys)
	}
}

func TestAbandonedUploadsExpire(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	up := b.create(video.Draft{})
	b.put(up, beginsLikeVideo)
	kept := b.processing(video.Draft{})

	b.pass(25*time.Hour - time.Second)
	if n, err := b.ExpireUploads(t.Context()); n != 0 || err != nil {
		t.Fatalf("ExpireUploads a second early = %d, %v", n, err)
	}
	b.pass(2 * time.Second)
	if n, err := b.ExpireUploads(t.Context()); n != 1 || err != nil {
		t.Fatalf("ExpireUploads = %d, %v; want 1", n, err)
	}
	if v := b.video(up.Video.ID); v.Status != video.Fail || v.Failure.Code != video.UploadExpired {
		t.Errorf("video = %s %v; want fail, upload_expired", v.Status, v.Failure)
	}
	if keys := b.keys(); !slices.Equal(keys, []string{b.video(kept.ID).Source.Key}) {
		t.Errorf("objects = %v; want the other video's source alone", keys)
	}
	_, err := b.CompleteUpload(t.Context(), b.by, up.Video.ID)
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Code != string(video.UploadExpired) {
		t.Errorf("CompleteUpload after expiry = %v; want upload_expired", err)
	}
}
