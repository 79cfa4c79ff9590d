package media

import (
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

// fewer lists the films that hold less than they announce, and how much of it.
var fewer = map[string]float64{
	"broken_no_initial_keyframe.ts": 0.15, // most of it precedes the first keyframe
	"mkv_mpeg4_aac51.mkv":           0.6,  // its clock starts again half-way
	"screenrec_tscc.avi":            0.4,  // packets that say "no change" are no frames
}

// quick are the films that tell most for their length.
var quick = []string{
	"attached_pic_tmcd.mov", "audio_only.mp4", "broken_invalid_nalu.mp4", "broken_no_initial_keyframe.ts", "broken_sps.flv",
	"chapters.mkv", "editlist_preroll.mp4", "encrypted_cenc.mp4", "hostile_hls_in_avi_local_file_read.avi", "motionphoto_2_hevc_tracks.mp4",
	"rawes_resolution_change.h264", "tiny_10x8_long.mp4", "truncated_mp4_100KB.mp4", "unsupported_vvc.mp4", "vp9_odd_161x121.webm",
}

// TestRealFootage takes real films through all steps: a telling few, or all of
// them when SPOOL_TEST_ALL_FOOTAGE is set.
func TestRealFootage(t *testing.T) {
	t.Parallel()
	dir := footage(t, "variety")
	tools := newTools(t)
	names := quick
	if os.Getenv("SPOOL_TEST_ALL_FOOTAGE") != "" {
		paths, err := filepath.Glob(filepath.Join(dir, "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, p := range paths {
			if filepath.Ext(p) != ".tsv" { // the list that describes them
				names = append(names, filepath.Base(p))
			}
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob(t, filepath.Join(dir, name))
			plan, err := tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"240p", "144p"}, Thumbnails: []float64{0, 1e9}})
			if code, ok := refused[name]; ok {
				if !isFailure(err, code) {
					t.Fatalf("Inspect = %v; want failure %s", err, code)
				}
				return
			}
			if err != nil {
				t.Fatalf("Inspect: %v", err)
			}
			share, ok := fewer[name]
			if !ok {
				share = 0.9
			}
			checkFilm(t, tools, job, plan, share)
		})
	}
}

// checkFilm runs every step of a plan and looks whether the result is a film
// that holds at least this share of the frames announced.
func checkFilm(t *testing.T, tools *Tools, job Job, plan *video.Plan, share float64) {
	t.Helper()
	got := encodeAll(t, tools, job, plan)
	if len(got.times) == 0 || got.times[0] > 0.1 {
		t.Errorf("pictures begin at %v; want about 0", got.times[:min(1, len(got.times))])
	}
	if plan.LimitRate == 0 && float64(len(got.times)) < share*float64(plan.Frames) {
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
