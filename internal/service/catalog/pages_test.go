package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// tokenIn returns the signed part of an address below a folder.
func tokenIn(t *testing.T, address, folder string) string {
	t.Helper()
	rest, ok := strings.CutPrefix(address, servicetest.Base+folder)
	token, _, more := strings.Cut(rest, "/")
	if !ok || !more {
		t.Fatalf("%s is no signed address below %s", address, folder)
	}
	return token
}

func TestAnEmbedPageOpensOneVideoUntilItExpires(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id, other := b.Create(video.Draft{}).Video.ID, b.Create(video.Draft{}).Video.ID
	read, err := b.Catalog.Private(t.Context(), b.By, id, time.Hour, servicetest.Base)
	b.Must(err)
	token := tokenIn(t, read.URLs.Embed, "/embed/")
	if read.URLs.Watch != "" {
		t.Errorf("a private video has the page %s", read.URLs.Watch)
	}

	b.Advance(10 * time.Minute)
	got, err := b.Catalog.Embed(t.Context(), token, id, servicetest.Base)
	b.Must(err)
	if stream := tokenIn(t, got.URLs.HLS, "/v/"); !sign.Expiry(stream).Equal(sign.Expiry(token)) {
		t.Errorf("the stream ends at %s and the page at %s", sign.Expiry(stream), sign.Expiry(token))
	}
	_, err = b.Catalog.Embed(t.Context(), token, other, servicetest.Base)
	servicetest.WantCode(t, err, video.Forbidden, "url_invalid")
	_, err = b.Catalog.Embed(t.Context(), tokenIn(t, read.URLs.HLS, "/v/"), id, servicetest.Base)
	servicetest.WantCode(t, err, video.Forbidden, "url_invalid")
	_, err = b.OpenSigned(t.Context(), token, id, "master.m3u8")
	servicetest.WantCode(t, err, video.Forbidden, "url_invalid")

	b.Advance(50 * time.Minute)
	_, err = b.Catalog.Embed(t.Context(), token, id, servicetest.Base)
	servicetest.WantCode(t, err, video.Forbidden, "url_expired")
}

func TestAnybodyMayWatchWhatIsPublic(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	public, private := b.Create(video.Draft{IsPublic: true}).Video.ID, b.Create(video.Draft{}).Video.ID
	got, err := b.Catalog.Watch(t.Context(), public, servicetest.Base)
	b.Must(err)
	if got.URLs.Watch != servicetest.Base+"/watch/"+string(public) || got.URLs.Embed != servicetest.Base+"/embed/"+string(public) {
		t.Errorf("its pages are %s and %s", got.URLs.Watch, got.URLs.Embed)
	}
	_, err = b.Catalog.Watch(t.Context(), private, servicetest.Base)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	b.Must(b.DeleteVideo(t.Context(), b.By, public))
	_, err = b.Catalog.Watch(t.Context(), public, servicetest.Base)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
}
