package playback_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
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

func (signer) PresignGet(context.Context, string, time.Duration, string) (string, error) {
	return "https://bucket.example.com/film", nil
}

func (signer) PresignPut(context.Context, string, string, time.Duration) (string, error) {
	return "https://bucket.example.com/upload", nil
}

func (signer) Origin(context.Context) (string, error) { return "https://bucket.example.com", nil }

func TestASilentStorageTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { return deaf{s} }, func(c *servicetest.Config) { c.Redirect = true })
		id := b.Create(video.Draft{IsPublic: true}).Video.ID
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
			"who asks for audio":       open("audio-0.m4s"),
			"a player":                 func() error { _, err := b.Redirect(ctx, playback.Access{Video: id}, "720p.mp4", false); return err },
			"a player who is served":   func() error { _, err := b.OpenPublic(ctx, id, "720p.mp4"); return err },
			"who completes the upload": func() error { _, err := b.Uploads.Complete(ctx, b.By, id); return err },
		} {
			began := time.Now()
			servicetest.WantCode(t, do(), video.Unavailable, "storage_unavailable")
			if waited := time.Since(began); waited > 10*time.Second {
				t.Errorf("%s waited for %v", who, waited)
			}
		}
	})
}

func TestPlaybackAddresses(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: false, Thumbnails: []float64{3}})
	b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
	b.Publish(v.ID, 0)
	w, err := b.Catalog.Private(ctx, b.By, v.ID, 10*time.Second, servicetest.Base)
	b.Must(err)
	token := strings.Split(strings.TrimPrefix(w.URLs.Resolutions["720p"].Rendition, servicetest.Base+"/v/"), "/")[0]

	o, err := b.OpenSigned(ctx, token, v.ID, "720p.mp4")
	b.Must(err)
	o.Close()
	_, err = b.OpenSigned(ctx, token, v.ID, "240p.mp4") // signed for another file
	servicetest.WantCode(t, err, video.Forbidden, "url_invalid")
	_, err = b.OpenPublic(ctx, v.ID, "720p.mp4")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	_, err = b.Catalog.Public(ctx, b.By, v.ID, servicetest.Base)
	servicetest.WantCode(t, err, video.Forbidden, "video_is_private")

	if _, err := b.Signing.Rotate(ctx); err != nil {
		t.Fatal(err)
	}
	o, err = b.OpenSigned(ctx, token, v.ID, "720p.mp4") // live addresses outlive a rotation
	b.Must(err)
	o.Close()
	b.Advance(10 * time.Second)
	_, err = b.OpenSigned(ctx, token, v.ID, "720p.mp4")
	servicetest.WantCode(t, err, video.Forbidden, "url_expired")
}
