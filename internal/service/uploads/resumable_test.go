package uploads_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// maintain does what a server does regularly.
func maintain(b *servicetest.Rig) {
	b.T.Helper()
	_, err := b.ExpireUploads(b.T.Context())
	b.Must(err)
	_, err = b.Sweep(b.T.Context())
	b.Must(err)
}

func TestNothingOfAResumableUploadGoesWhileItsAddressLives(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable)
	begun, idle := b.Create(video.Draft{}), b.Create(video.Draft{})
	b.BeginUpload(begun)
	open := func(up catalog.Upload) string {
		_, err := b.Uploads.OpenResumable(t.Context(), servicetest.TusToken(up), up.Video.ID)
		return servicetest.CodeOf(err)
	}
	left := func() int {
		n := 0
		for _, key := range b.Objects() {
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
		b.Advance(servicetest.Start.Add(step.after).Sub(b.Now()))
		maintain(b)
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

func TestARepeatedCreateDoesNotShortenAResumableUpload(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable)
	d := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}, Key: "again"}
	up := b.Create(d)
	b.BeginUpload(up)
	b.Advance(time.Minute)
	if again := b.Create(d); !again.Repeated || again.Video.UploadExpiresAt.Before(up.Video.CreatedAt.Add(47*time.Hour)) {
		t.Errorf("the repeated request is answered with an upload until %s (repeated: %t)", again.Video.UploadExpiresAt, again.Repeated)
	}
}

// TestAnUploadThatGoesOnAtALaterAddress lives as long as that address.
func TestAnUploadThatGoesOnAtALaterAddress(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable, func(c *servicetest.Config) { c.AbandonedAfter = time.Hour })
	d := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}, Key: "again"}
	b.BeginUpload(b.Create(d))
	b.Advance(23 * time.Hour)
	later := b.Create(d)
	r, err := b.Uploads.OpenResumable(t.Context(), servicetest.TusToken(later), later.Video.ID)
	b.Must(err)
	b.Must(b.Uploads.ContinueResumable(t.Context(), r))
	b.Advance(47 * time.Hour) // of the 48 that it was told
	maintain(b)
	if _, err := b.Uploads.OpenResumable(t.Context(), servicetest.TusToken(later), later.Video.ID); err != nil || len(b.Objects()) != 2 {
		t.Errorf("an hour before its end the address is refused with %v, and %q are stored; want the record and the bytes", err, b.Objects())
	}
}

func TestAddressesOfOneKindAreNoneOfTheOther(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable)
	up := b.Create(video.Draft{})
	if _, err := b.Uploads.OpenResumable(t.Context(), path.Base(path.Dir(up.URL)), up.Video.ID); servicetest.CodeOf(err) != "url_invalid" {
		t.Errorf("the address of a PUT is taken for a resumable one: %v", err)
	}
	_, err := b.Uploads.Receive(t.Context(), uploads.Incoming{Token: servicetest.TusToken(up), Video: up.Video.ID, ContentType: "video/mp4", Body: strings.NewReader("x")})
	if servicetest.CodeOf(err) != "url_invalid" {
		t.Errorf("the address of a resumable upload is taken for a PUT's: %v", err)
	}
}
