package pipeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// A data directory restored from a backup holds the same files as other inodes.
func TestARestoredSourceIsTheSameSource(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Video(b.Processing(video.Draft{}).ID)
	restore := func(content string) error {
		if _, err := b.Blobs.Put(t.Context(), v.Source.Key, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		return b.FetchSource(t.Context(), v, filepath.Join(t.TempDir(), "source"))
	}
	if err := restore(string(servicetest.LikeVideo)); err != nil {
		t.Errorf("FetchSource of a restored file = %v", err)
	}
	if err := restore("half of it"); !errors.Is(err, pipeline.ErrSourceGone) {
		t.Errorf("FetchSource of another file = %v; want ErrSourceGone", err)
	}
	b.Must(b.Blobs.Delete(t.Context(), v.Source.Key))
	if err := b.FetchSource(t.Context(), v, filepath.Join(t.TempDir(), "source")); !errors.Is(err, pipeline.ErrSourceGone) {
		t.Errorf("FetchSource without a file = %v; want ErrSourceGone", err)
	}
}

func TestFetchRenditionFiles(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Measuring)
	p := servicetest.MeasuredPlan("720p", "240p")
	p.Renditions[0].Names = []video.Name{"1080p", "720p"} // the first was never asked for, or is deleted
	v := b.Ready(p)
	dir := t.TempDir()
	renditions, err := b.FetchRenditionFiles(t.Context(), v, dir)
	b.Must(err)
	want := []pipeline.FetchedRendition{{Rendition: 0, Path: filepath.Join(dir, "720p.mp4")}, {Rendition: 1, Path: filepath.Join(dir, "240p.mp4")}}
	if diff := cmp.Diff(want, renditions); diff != "" {
		t.Errorf("renditions (-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(renditions[0].Path); err != nil || string(text) != servicetest.Rendition {
		t.Errorf("rendition = %q, %v", text, err)
	}

	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[0].ID))
	renditions, err = b.FetchRenditionFiles(t.Context(), v, t.TempDir()) // v does not know of it yet
	if b.Must(err); len(renditions) != 1 || renditions[0].Rendition != 1 {
		t.Errorf("renditions after a deletion = %v; want 240p alone", renditions)
	}
	b.Must(b.Blobs.Close())
	_, err = b.FetchRenditionFiles(t.Context(), v, t.TempDir())
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Kind != video.Unavailable {
		t.Errorf("FetchRenditionFiles without a storage = %v; want it unavailable", err)
	}
}
