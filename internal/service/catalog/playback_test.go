package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
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
