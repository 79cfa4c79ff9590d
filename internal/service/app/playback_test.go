package app_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// deaf is a storage that takes requests and never answers.
type deaf struct{ blob.Store }

func (deaf) Stat(ctx context.Context, _ string) (blob.Info, error) {
	<-ctx.Done()
	return blob.Info{}, ctx.Err()
}

func (deaf) Open(ctx context.Context, _ string) (blob.Object, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (deaf) List(ctx context.Context, _ string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		<-ctx.Done()
		yield(blob.Info{}, ctx.Err())
	}
}

func (deaf) Capabilities() blob.Capabilities { return blob.Capabilities{Presign: signer{}} }

// signer signs addresses without asking anybody.
type signer struct{}

func (signer) PresignGet(context.Context, string, time.Duration) (string, error) {
	return "https://bucket.example.com/film", nil
}

func (signer) PresignPut(context.Context, string, string, time.Duration) (string, error) {
	return "https://bucket.example.com/upload", nil
}

func (signer) Origin(context.Context) (string, error) { return "https://bucket.example.com", nil }

func TestNobodyWaitsLongForAStorageThatIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBenchOn(t, func(s *disk.Store) blob.Store { return deaf{s} }, func(c *app.Config) { c.Redirect = true })
		id := b.create(video.Draft{IsPublic: true}).Video.ID
		// What waits for a minute is the test's own end, for one who would wait for ever.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		open := func(file string) func() error {
			return func() error { _, err := b.OpenPublic(ctx, id, file); return err }
		}
		for who, do := range map[string]func() error{
			"who asks for a stream":    open("master.m3u8"),
			"who asks for a playlist":  open("720p.m3u8"),
			"who asks for a segment":   open("720p-0.m4s"),
			"who asks for sound":       open("audio-0.m4s"),
			"a player":                 func() error { _, err := b.PublicAddress(ctx, id, "720p.mp4"); return err },
			"a player who is served":   func() error { _, err := b.OpenPublic(ctx, id, "720p.mp4"); return err },
			"who completes the upload": func() error { _, err := b.CompleteUpload(ctx, b.by, id); return err },
		} {
			began := time.Now()
			wantCode(t, do(), video.Unavailable, "storage_unavailable")
			if waited := time.Since(began); waited > 10*time.Second {
				t.Errorf("%s waited for %v", who, waited)
			}
		}
	})
}
