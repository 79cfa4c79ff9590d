package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// A client that asks for more than the operator allows gets addresses that work, for a shorter time.
func TestSignedAddressesLiveAtMostAsLongAsTheOperatorAllows(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.MaxSignedLife = time.Hour })
	id := b.Create(video.Draft{}).Video.ID
	for ask, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, time.Hour: time.Hour, time.Hour + time.Second: time.Hour, 31_536_000 * time.Second: time.Hour,
	} {
		got, err := b.Catalog.Private(t.Context(), b.By, id, ask, servicetest.Base)
		b.Must(err)
		for _, address := range []string{got.URLs.HLS, got.URLs.DASH, got.URLs.Resolutions["720p"].Rendition} {
			token, _, _ := strings.Cut(strings.TrimPrefix(address, servicetest.Base+"/v/"), "/")
			if end := sign.Expiry(token); !end.Equal(b.Now().Add(want).Truncate(time.Millisecond)) {
				t.Errorf("asked for %s: %s expires at %s; want %s", ask, address, end, b.Now().Add(want))
			}
		}
	}
}

// posterURL returns the address of the poster, if there is one.
func posterURL(files []playback.FileURL) string {
	for _, f := range files {
		if f.Name == video.PosterFile {
			return f.URL
		}
	}
	return ""
}

// The addresses of a list expire for private videos, and stay the same for a while.
func TestFileURLsOfAList(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration][2]time.Duration{0: {time.Hour, 2 * time.Hour}, time.Minute: {time.Minute, time.Minute}} {
		b := servicetest.New(t, func(c *servicetest.Config) { c.MaxSignedLife = life })
		public, private := b.Create(video.Draft{IsPublic: true}).Video, b.Create(video.Draft{}).Video
		if got := posterURL(b.Catalog.FileURLs(public, "http://x")); got != "http://x/v/"+string(public.ID)+"/poster.jpg" {
			t.Errorf("the poster of a public video is %s", got)
		}
		b.Advance(10 * time.Minute)
		got := posterURL(b.Catalog.FileURLs(private, "http://x"))
		token := strings.Split(got, "/")[4]
		if left := sign.Expiry(token).Sub(b.Now()); left < want[0] || left > want[1] {
			t.Errorf("with max_signed_life %s, the poster of a private video is valid for %s", life, left)
		}
		_, err := b.OpenSigned(t.Context(), token, private.ID, video.PosterFile)
		servicetest.WantCode(t, err, video.NotFound, "not_ready")
		_, err = b.OpenSigned(t.Context(), token, private.ID, "720p.mp4")
		servicetest.WantCode(t, err, video.Forbidden, "url_invalid")
		b.Advance(time.Second)
		if again := posterURL(b.Catalog.FileURLs(private, "http://x")); life == 0 && again != got {
			t.Errorf("a second later it is %s instead of %s", again, got)
		}
	}
}
