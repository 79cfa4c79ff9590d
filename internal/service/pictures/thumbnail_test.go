package pictures_test

import (
	"image"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// filmed makes a video with two real renditions. Its first second is red, the other one blue.
func filmed(b *servicetest.Rig, public bool) video.Video {
	b.T.Helper()
	film := enginetest.Outputs(b.T, []string{"-f", "lavfi", "-i", "color=red:s=640x360:r=25:d=1[a];color=blue:s=640x360:r=25:d=1[b];[a][b]concat"},
		enginetest.Output{Name: "a.mp4", Args: []string{"-c:v", "libx264", "-preset", "ultrafast", "-bf", "3", "-movflags", "+faststart"}},
		enginetest.Output{Name: "b.mp4", Args: []string{"-vf", "scale=320:180", "-c:v", "libx264", "-preset", "ultrafast", "-movflags", "+faststart"}})
	id := b.Processing(video.Draft{IsPublic: public}).ID
	p := servicetest.Plan("720p", "240p")
	p.Duration = 2 * time.Second
	b.Transcode(id, p)
	for n, size := range []image.Point{{X: 640, Y: 360}, {X: 320, Y: 180}} {
		b.Must(b.PublishRendition(b.T.Context(), b.Video(id), n, pipeline.RenditionFile{Path: film[n], Width: size.X, Height: size.Y, Duration: 2 * time.Second}))
	}
	return b.Video(id)
}

// look returns the colour, the size and the ETag of a thumbnail, or the code of its refusal.
func look(b *servicetest.Rig, a playback.Access, q pictures.Query) (colour string, size image.Point, etag string) {
	b.T.Helper()
	t, err := b.Pictures.Thumbnail(b.T.Context(), a, q)
	if err != nil {
		return servicetest.CodeOf(err), size, ""
	}
	defer t.Close()
	file, err := io.ReadAll(t)
	b.Must(err)
	if int64(len(file)) != t.Info().Size {
		b.T.Errorf("a thumbnail of %d bytes has %d", t.Info().Size, len(file))
	}
	if strings.HasPrefix(string(file), "RIFF") {
		return "WebP", size, t.Info().ETag
	}
	p, err := jpeg.Decode(strings.NewReader(string(file)))
	b.Must(err)
	r, _, blue, _ := p.At(p.Bounds().Dx()/2, p.Bounds().Dy()/2).RGBA()
	if r > blue {
		return "red", p.Bounds().Size(), t.Info().ETag
	}
	return "blue", p.Bounds().Size(), t.Info().ETag
}

func TestThumbnails(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	v := filmed(b, true)
	public := playback.Access{Video: v.ID}
	at := func(seconds float64) *time.Duration { return new(time.Duration(seconds * float64(time.Second))) }
	for _, tt := range []struct {
		q    pictures.Query
		want string
		size image.Point
	}{
		{pictures.Query{}, "red", image.Pt(640, 360)}, // at 0.6 s
		{pictures.Query{At: at(0)}, "red", image.Pt(640, 360)},
		{pictures.Query{At: at(0.9999)}, "blue", image.Pt(640, 360)}, // times are rounded to milliseconds
		{pictures.Query{At: at(1), Wanted: pictures.Wanted{Width: 160}}, "blue", image.Pt(160, 90)},
		{pictures.Query{At: at(99), Wanted: pictures.Wanted{Width: 1920, Height: 90}}, "blue", image.Pt(160, 90)},
		{pictures.Query{At: at(1), Wanted: pictures.Wanted{Width: 100, Height: 100, Fit: pictures.Cover}}, "blue", image.Pt(100, 100)},
		{pictures.Query{At: at(1), Wanted: pictures.Wanted{Width: 1000, Height: 1000, Fit: pictures.Cover}}, "blue", image.Pt(360, 360)},
		{pictures.Query{At: at(1), Format: video.WebP}, "WebP", image.Point{}},
	} {
		got, size, etag := look(b, public, tt.q)
		if _, _, again := look(b, public, tt.q); got != tt.want || size != tt.size || etag == "" || again != etag {
			t.Errorf("%+v gives %s of %v, ETag %q and %q; want %s of %v", tt.q, got, size, etag, again, tt.want, tt.size)
		}
	}
	_, _, one := look(b, public, pictures.Query{At: at(0.5)})
	_, _, other := look(b, public, pictures.Query{At: at(0.5000001)})
	if one != other {
		t.Error("times that differ by less than a frame are made twice")
	}
	if got, _, _ := look(b, playback.Access{Video: v.ID, Token: "x"}, pictures.Query{}); got != "url_invalid" {
		t.Errorf("a forged address answers %q", got)
	}
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	if got, _, _ := look(b, public, pictures.Query{}); got != "not_found" {
		t.Errorf("a deleted video answers %q, although its picture is cached", got)
	}
}

func TestThumbnailsOfPrivateVideos(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	v := filmed(b, false)
	if got, _, _ := look(b, playback.Access{Video: v.ID}, pictures.Query{}); got != "not_found" {
		t.Errorf("without a signature the answer is %q", got)
	}
	signed := playback.Access{Video: v.ID, Token: b.Signing.Sign(sign.Playback, string(v.ID)+"/"+video.ThumbnailFile, b.Now().Add(time.Minute))}
	if got, _, _ := look(b, signed, pictures.Query{}); got != "red" {
		t.Errorf("with a signature the answer is %q", got)
	}
	b.Advance(2 * time.Minute)
	if got, _, _ := look(b, signed, pictures.Query{}); got != "url_expired" {
		t.Errorf("after its time the answer is %q", got)
	}
}

func TestThumbnailsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	none := servicetest.New(t)
	if got, _, _ := look(none, playback.Access{Video: filmed(none, true).ID}, pictures.Query{}); got != "pictures_unavailable" {
		t.Errorf("without ffmpeg the answer is %q", got)
	}
	b := servicetest.New(t, withFFmpeg(t))
	if got, _, _ := look(b, playback.Access{Video: b.Processing(video.Draft{IsPublic: true}).ID}, pictures.Query{}); got != "not_ready" {
		t.Errorf("before a resolution is ready the answer is %q", got)
	}
	if got, _, _ := look(b, playback.Access{Video: "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"}, pictures.Query{}); got != "not_found" {
		t.Errorf("of no video the answer is %q", got)
	}
}

// Equal requests are computed once.
func TestOneThumbnailForAll(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	v := filmed(b, true)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			p, err := b.Pictures.Thumbnail(t.Context(), playback.Access{Video: v.ID}, pictures.Query{})
			if err != nil {
				t.Error(err)
				return
			}
			p.Close()
		})
	}
	all.Wait()
	files, err := os.ReadDir(b.Pictures.Dir)
	b.Must(err)
	if len(files) != 1 || filepath.Ext(files[0].Name()) != "" {
		t.Errorf("in the cache are %v", files)
	}
}

// A frame becomes the poster.
func TestAFrameAsThePoster(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	v := filmed(b, true)
	changed, err := b.Pictures.SetPosterTime(t.Context(), b.By, v.ID, 1500*time.Millisecond)
	b.Must(err)
	f, _ := changed.File(video.PosterFile)
	if f.Source != video.Chosen || f.Width != 640 || f.Height != 360 || changed.PosterMoment() != 1500*time.Millisecond {
		t.Errorf("the poster is %+v at %v", f, changed.PosterMoment())
	}
	wantPoster(b, v.ID, "with a frame", "blue")
	if got, _, _ := look(b, playback.Access{Video: v.ID}, pictures.Query{}); got != "blue" {
		t.Errorf("the thumbnail of that moment is %q", got)
	}
}
