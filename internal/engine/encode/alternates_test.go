package encode

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
	"github.com/spool-video/spool/test/need"
)

// Pictures of a clip come as JPEG and, where that is smaller, in the other formats.
func TestPicturesInOtherFormats(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := enginetest.Clip(t, "a.mp4", "testsrc2=s=640x360:r=10:d=2,gblur=2", "-map", "0:v", "-preset", "ultrafast")
	job := enginetest.NewJob(t, source)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"360p", "144p"}, Thumbnails: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	poster, err := tools.Poster(t.Context(), job, p, nil)
	if err != nil || len(poster) != 3 || poster[0].Format != video.AVIF || poster[1].Format != video.WebP || poster[2].Format != "" {
		t.Fatalf("the poster is %+v: %v; want AVIF, WebP and JPEG", poster, err)
	}
	for i, o := range poster[:2] {
		if o.Size >= poster[i+1].Size {
			t.Errorf("%s has %d bytes, the next one %d", o.Format, o.Size, poster[i+1].Size)
		}
	}
	thumbnails, err := tools.Thumbnails(t.Context(), job, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := map[video.PictureFormat]int{}
	for _, o := range thumbnails {
		made[o.Format]++
		if got := formatOf(t, o.Path); got != o.Format {
			t.Errorf("%s is %q", o.Path, got)
		}
	}
	if made[""] != 4 || made[video.WebP] == 0 || made[video.WebP] > 4 {
		t.Errorf("thumbnails are %v", made)
	}
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
		files, err := tools.Poster(t.Context(), job, p, nil)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		jpeg := files[len(files)-1]
		for _, o := range files {
			t.Logf("%-32s %-5s %7d bytes, %.2f", filepath.Base(name), o.Format, o.Size, float64(o.Size)/float64(jpeg.Size))
		}
		jpegs, smallest = jpegs+jpeg.Size, smallest+files[0].Size
	}
	t.Logf("all: %d bytes of JPEG, %d of the smallest (%s)", jpegs, smallest, strconv.FormatFloat(float64(smallest)/float64(jpegs), 'f', 2, 64))
	if smallest*100 > jpegs*90 {
		t.Errorf("other formats save less than a tenth")
	}
}

// jpegs returns the pictures that are JPEGs.
func jpegs(all []Output) []Output {
	return slices.DeleteFunc(slices.Clone(all), func(o Output) bool { return o.Format != "" })
}
