package playback_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// distant is a storage on other machines.
type distant struct{ blob.Store }

func (distant) Capabilities() blob.Capabilities { return blob.Capabilities{Presign: signer{}} }

// Another format is sent only beside its JPEG, and one that has gone is not sent again because it was
// seen once.
func TestPicturesThatComeAndGo(t *testing.T) {
	t.Parallel()
	takes := []video.PictureFormat{video.AVIF, video.WebP}
	for name, wrap := range map[string]func(*disk.Store) blob.Store{
		"local":  func(s *disk.Store) blob.Store { return s },
		"remote": func(s *disk.Store) blob.Store { return distant{s} },
	} {
		for _, redirect := range []bool{false, true} {
			b := servicetest.NewOn(t, wrap, func(c *servicetest.Config) { c.Redirect = redirect })
			ctx := t.Context()
			id := b.Create(video.Draft{IsPublic: true}).Video.ID
			key := func(file string) string { return objects.Public.Prefix(video.Folder(id)) + file }
			put := func(file string) {
				t.Helper()
				_, err := b.Blobs.Put(ctx, key(file), strings.NewReader("picture"))
				b.Must(err)
			}
			want := func(when, file string) {
				t.Helper()
				if got := b.Picture(ctx, playback.Access{Video: id}, video.PosterFile, takes); got != file {
					t.Errorf("%s, redirect %t, %s: %s is sent, want %s", name, redirect, when, got, file)
				}
			}
			put("poster.webp")
			want("a WebP without a JPEG", video.PosterFile)
			b.Advance(time.Minute) // so long it is remembered
			put(video.PosterFile)
			want("a WebP", "poster.webp")
			b.Must(b.Blobs.Delete(ctx, key("poster.webp")))
			var err error
			if redirect && name == "remote" {
				_, err = b.Redirect(ctx, playback.Access{Video: id}, "poster.webp", false)
			} else {
				_, err = b.OpenPublic(ctx, id, "poster.webp")
			}
			if video.KindOf(err) != video.NotFound {
				t.Errorf("%s, redirect %t: a picture that has gone: %v", name, redirect, err)
			}
			want("no WebP", video.PosterFile)
		}
	}
}
