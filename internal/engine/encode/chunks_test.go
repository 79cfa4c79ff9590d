package encode

import (
	"slices"
	"testing"
	"time"

	"github.com/Eyevinn/mp4ff/avc"
	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// TestChunksMakeTheSameVideo cuts videos into chunk files and compares every frame
// with the video encoded as a whole.
func TestChunksMakeTheSameVideo(t *testing.T) {
	t.Parallel()
	const several = "testsrc2=s=160x120:r=25:d=7"
	x264 := func(params string) []string {
		return []string{"-an", "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", params}
	}
	tests := []struct {
		name, file, picture string
		args                []string
	}{
		{"closed groups in MP4", "a.mp4", several, x264("keyint=25:bframes=3")},
		{"open groups in MP4", "a.mp4", several, x264("keyint=25:bframes=3:open-gop=1:scenecut=0")},
		{"open groups in Matroska", "a.mkv", several, x264("keyint=25:bframes=3:open-gop=1:scenecut=0")},
		{"variable frame rate", "a.mp4", several + ",select='lt(mod(n,7),4)'", append(x264("keyint=20:bframes=3"), "-fps_mode", "passthrough")},
		{"NTSC rate in Matroska's milliseconds", "a.mkv", "testsrc2=s=160x120:r=30000/1001:d=7", x264("keyint=30:bframes=2")},
		{"only keyframes", "a.mov", several, []string{"-an", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p"}},
		{"VP9", "a.webm", several, []string{"-an", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25"}},
		{"fragmented MP4", "a.mp4", several, append(x264("keyint=25:bframes=3"), "-movflags", "frag_keyframe+empty_moov")},
	}
	whole := newEngine(t)
	cut := shortChunks(whole)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, tt.name, "open groups in Matroska", "only keyframes", "VP9",
				"closed groups in MP4", // as with a variable frame rate
				"fragmented MP4")       // TestPartsOfASourceGiveTheSameVideo
			source := enginetest.Clip(t, tt.file, tt.picture, tt.args...)
			one, _ := encodeClip(t, whole, source)
			if one.pieces != 1 {
				t.Fatalf("%d chunk files; want the video as a whole", one.pieces)
			}
			many, job := encodeClip(t, cut, source)
			if many.pieces < 3 {
				t.Fatalf("%d chunk files; want 3 or more", many.pieces)
			}
			want := since(probeFile(t, source, "v:0").times(t))
			sameTimes(t, one.times, want)
			sameTimes(t, many.times, want)
			checkGrid(t, one.keys, many.keys)
			checkLikeness(t, many, chunkFilePath(job, 0), source, "0.95") // the last chunk file
		})
	}
}

// TestTheFirstChunksMayBeginAtAnyFrame does the same with chunks that begin between keyframes.
func TestTheFirstChunksMayBeginAtAnyFrame(t *testing.T) {
	t.Parallel()
	whole := newEngine(t)
	early := plan.Chunking{Length: 20 * time.Second, Parts: 1, Min: 2 * time.Second, Whole: 3 * time.Second, MinLast: time.Second, Early: time.Second}
	early.Head = [...]time.Duration{1100 * time.Millisecond, 2 * time.Second, 4 * time.Second, 5500 * time.Millisecond, 0, 0, 0, 0, 0}
	cut := *whole
	cut.Inspector = plan.NewInspector(probe.New(whole.run, probe.Config{}), plan.Config{Chunking: early})
	for name, group := range map[string]string{"closed groups": "keyint=75:bframes=3", "open groups": "keyint=75:bframes=3:open-gop=1:scenecut=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, name, "closed groups")
			source := enginetest.Clip(t, "a.mp4", "testsrc2=s=160x120:r=25:d=7", "-an", "-c:v", "libx264", "-x264-params", group)
			one, _ := encodeClip(t, whole, source)
			many, job := encodeClip(t, &cut, source)
			if many.pieces != 5 {
				t.Fatalf("%d chunk files; want 5", many.pieces)
			}
			sameTimes(t, many.times, since(probeFile(t, source, "v:0").times(t)))
			checkGrid(t, one.keys, many.keys)
			checkLikeness(t, many, chunkFilePath(job, 0), source, "0.95") // the last chunk file
		})
	}
}

func encodeClip(t *testing.T, tools *engine, source string) (encoded, ffmpeg.Job) {
	t.Helper()
	job := enginetest.NewJob(t, source)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	return encodeAll(t, tools, job, plan), job
}

// checkGrid makes sure that keyframes are at most two seconds apart, and that
// those of the whole video are keyframes of the chunk files, too.
func checkGrid(t *testing.T, whole, pieces []float64) {
	t.Helper()
	for i, k := range whole[1:] {
		if k-whole[i] > 2.05 {
			t.Errorf("no keyframe between %.3f and %.3f", whole[i], k)
		}
		if !slices.ContainsFunc(pieces, func(p float64) bool { return p-k < 0.0005 && k-p < 0.0005 }) {
			t.Errorf("the chunk files have no keyframe at %.3f: %v", k, pieces)
		}
	}
}

// TestChunkFilesShareOneDescription makes sure that all chunk files of a rendition can
// be decoded with the parameters of the first.
func TestChunkFilesShareOneDescription(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=160x120:r=25:d=7", "-an", "-g", "25"))
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	var first *avc.DecConfRec
	for n := range plan.Chunks {
		outputs, err := tools.EncodeChunk(t.Context(), job, plan, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		conf := decoderConfig(t, outputs[0].Path)
		if first == nil {
			first = conf
		}
		if diff := cmp.Diff(first.SPSnalus, conf.SPSnalus); diff != "" {
			t.Errorf("chunk %d has another SPS: %s", n, diff)
		}
		if diff := cmp.Diff(first.PPSnalus, conf.PPSnalus); diff != "" {
			t.Errorf("chunk %d has another PPS: %s", n, diff)
		}
	}
}

func decoderConfig(t *testing.T, path string) *avc.DecConfRec {
	t.Helper()
	return &readHeader(t, path).Trak.Mdia.Minf.Stbl.Stsd.AvcX.AvcC.DecConfRec
}
