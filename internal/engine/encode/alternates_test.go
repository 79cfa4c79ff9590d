package encode

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
	"github.com/spool-video/spool/test/need"
)

// Pictures of a clip come as JPEG and, where that is smaller, in the other formats.
func TestPicturesInOtherFormats(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := enginetest.Clip(t, "a.mp4", "testsrc2=s=640x360:r=10:d=2,gblur=5", "-map", "0:v", "-preset", "ultrafast")
	job := enginetest.NewJob(t, source)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"360p", "144p"}, Thumbnails: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := tools.Poster(t.Context(), job, p, nil)
	if err != nil || path == "" {
		t.Fatal(path, err)
	}
	how, worth := tools.PosterStills(p)
	poster := alternatesOf(t, tools, how, path)
	if !worth || len(poster) != 2 || poster[0].Format != video.WebP || poster[1].Format != video.AVIF {
		t.Fatalf("the poster is %+v; want WebP and AVIF", poster)
	}
	if jpeg := sizeOf(t, path); poster[0].Size >= jpeg || poster[1].Size >= poster[0].Size {
		t.Errorf("the JPEG has %d bytes, the others %+v", jpeg, poster)
	}
	thumbnails, err := tools.Thumbnails(t.Context(), job, p, nil)
	if err != nil || len(thumbnails) != 4 {
		t.Fatalf("thumbnails are %+v: %v", thumbnails, err)
	}
	of, worth := tools.ThumbnailStills(p, []int{1})
	made := alternatesOf(t, tools, of[1], thumbnails[1].Path, thumbnails[3].Path)
	if !worth || len(made) != 2 || made[0].Format != video.WebP || made[1].Thumbnail != 1 {
		t.Errorf("the thumbnails of the small rendition are %+v; want two as WebP", made)
	}
}

// alternatesOf makes JPEGs in other formats.
func alternatesOf(t *testing.T, tools *engine, how Stills, jpegs ...string) []Output {
	t.Helper()
	job := ffmpeg.Job{OutDir: t.TempDir()}
	for i, path := range jpegs {
		if _, err := copyFile(StillPath(job, i), path); err != nil {
			t.Fatal(err)
		}
	}
	job.Source = StillPath(job, 0)
	made, err := tools.Alternates(t.Context(), job, how, len(jpegs))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range made {
		if got := formatOf(t, o.Path); got != o.Format || o.Size != sizeOf(t, o.Path) {
			t.Errorf("%+v is %q with %d bytes", o, got, sizeOf(t, o.Path))
		}
	}
	return made
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// formatOf tells a format by what it begins with.
func formatOf(t *testing.T, path string) video.PictureFormat {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(b) > 12 && string(b[4:12]) == "ftypavif":
		return video.AVIF
	case len(b) > 12 && string(b[8:12]) == "WEBP":
		return video.WebP
	}
	return ""
}

// Alternates must not cost a notable part of the encode, nor be given to an encoder that refuses them.
func TestWhereOtherFormatsAreWorthIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width, height, frames, shots int
		want                         bool
	}{
		{1280, 720, 250, 1, true},
		{1280, 2276, 250, 1, true},
		{1920, 1080, 250, 3, false},
		{1920, 1080, 5000, 3, true},
		{320, 180, 25, 50, true},
		{62, 720, 5000, 1, false},
		{8194, 4096, 1e6, 1, false},
	} {
		p := &video.Plan{Frames: tt.frames, Renditions: []video.Rendition{{Width: tt.width, Height: tt.height}}}
		if got := worthAlternates(p, tt.shots); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

// TestPosterFormats shows what other formats save of the posters of real footage.
func TestPosterFormats(t *testing.T) {
	need.TimeFor(t, "it makes the posters of all bench clips")
	tools := newEngine(t)
	var jpegs, smallest int64
	clips, err := filepath.Glob(filepath.Join(footage.Path(t, "bench"), "*.[mw][pe][4b]*"))
	if err != nil || len(clips) == 0 {
		t.Fatal(clips, err)
	}
	for _, name := range clips {
		job := enginetest.NewJob(t, name)
		p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
		if err != nil {
			t.Fatal(err)
		}
		path, _, err := tools.Poster(t.Context(), job, p, nil)
		if err != nil || path == "" {
			t.Fatal(path, err)
		}
		how, _ := tools.PosterStills(p)
		jpeg := sizeOf(t, path)
		least := jpeg
		for _, o := range alternatesOf(t, tools, how, path) {
			t.Logf("%-32s %-5s %7d bytes, %.2f", filepath.Base(name), o.Format, o.Size, float64(o.Size)/float64(jpeg))
			least = o.Size
		}
		jpegs, smallest = jpegs+jpeg, smallest+least
	}
	t.Logf("all: %d bytes of JPEG, %d of the smallest (%s)", jpegs, smallest, strconv.FormatFloat(float64(smallest)/float64(jpegs), 'f', 2, 64))
	if smallest*100 > jpegs*90 {
		t.Errorf("other formats save less than a tenth")
	}
}
