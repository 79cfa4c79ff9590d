package media

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// footage returns the path of a real film that is not part of the repository.
func footage(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("SPOOL_TEST_MEDIA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "media")
	}
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no real footage here (set SPOOL_TEST_MEDIA): %v", err)
	}
	return path
}

// refused lists the films of the collection that can never become a video.
var refused = map[string]video.FailureCode{
	"audio_only.mp4":                         video.NoVideoStream,
	"empty_zero_bytes.mp4":                   video.Corrupt,
	"encrypted_cenc.mp4":                     video.Encrypted,
	"hostile_hls_in_avi_local_file_read.avi": video.NoVideoStream,
	"unsupported_vvc.mp4":                    video.UnsupportedCodec,
}

// TestRealFootage takes every film of the collection through all steps.
func TestRealFootage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute of CPU time")
	}
	dir := footage(t, "variety")
	tools := newTools(t)
	films, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, film := range films {
		if filepath.Ext(film.Name()) == ".tsv" {
			continue
		}
		t.Run(film.Name(), func(t *testing.T) {
			t.Parallel()
			job := newJob(t, filepath.Join(dir, film.Name()))
			plan, err := tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"240p", "144p"}, Thumbnails: []float64{0, 1e9}})
			if code, ok := refused[film.Name()]; ok {
				if f, _ := errors.AsType[*video.Failure](err); f == nil || f.Code != code {
					t.Fatalf("Inspect = %v; want failure %s", err, code)
				}
				return
			}
			if err != nil {
				t.Fatalf("Inspect: %v", err)
			}
			checkFilm(t, tools, job, plan)
		})
	}
}

// checkFilm runs every step of a plan and looks whether the result is a film.
func checkFilm(t *testing.T, tools *Tools, job Job, plan *video.Plan) {
	t.Helper()
	got := encodeAll(t, tools, job, plan)
	if len(got.times) == 0 || got.times[0] > 1 {
		t.Errorf("pictures begin at %v; want about 0", got.times[:min(1, len(got.times))])
	}
	if tooFew := plan.Frames * 8 / 10; plan.LimitRate == 0 && len(got.times) < tooFew {
		t.Errorf("%d frames of %d were encoded", len(got.times), plan.Frames)
	}
	if plan.Audio != nil {
		if _, err := tools.EncodeAudio(t.Context(), job, plan, nil); err != nil {
			t.Errorf("EncodeAudio: %v", err)
		}
	}
	pictures, err := tools.Thumbnails(t.Context(), job, plan, nil)
	if want := len(plan.Thumbnails) * len(plan.Renditions); err != nil || len(pictures) != want {
		t.Errorf("Thumbnails = %d pictures, %v; want %d", len(pictures), err, want)
	}
	t.Logf("%dx%d %s %s %.3f fps, %v, %d chunks, %d of %d frames, scale %d", plan.Input.Width, plan.Input.Height,
		plan.Input.Codec, plan.Input.Container, plan.Input.FrameRate, plan.Duration, len(plan.Chunks), len(got.times), plan.Frames, plan.Timescale)
}
