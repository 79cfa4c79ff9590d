package encode

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// encoderNamed returns an encoder by ffmpeg's name for it.
func encoderNamed(t testing.TB, name string) codecEncoder {
	t.Helper()
	i := slices.IndexFunc(encoders, func(e codecEncoder) bool { return e.name == name })
	if i < 0 {
		t.Fatalf("there is no encoder %s", name)
	}
	return encoders[i]
}

func TestEncodersFor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		codec video.Codec
		want  Accelerator
		names []string
	}{
		{"software is software", video.H264, Software, []string{"libx264"}},
		{"hardware comes before software", video.H264, NVENC, []string{"h264_nvenc", "libx264"}},
		{"automatic tries all", video.H264, Auto, []string{"h264_nvenc", "h264_qsv", "h264_vaapi", "libx264"}},
		{"other codecs than H.264 have software only", video.AV1, Software, []string{"libsvtav1"}},
	}
	for _, tt := range tests {
		var got []string
		for _, e := range encodersFor(tt.codec, tt.want) {
			got = append(got, e.name)
		}
		if diff := gocmp.Diff(tt.names, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, c := range append([]video.Codec{video.H264}, video.ExtraCodecs...) {
		for _, a := range Accelerators {
			if all := encodersFor(c, a); len(all) == 0 || all[len(all)-1].accelerator != Software {
				t.Errorf("%s on %s does not end with software", c, a)
			}
		}
	}
}

// TestVideosOfOtherCodecs encodes a video in several chunks and joins them: every
// frame keeps its time, keyframes are where they belong, and one configuration of the
// decoder serves all chunks.
func TestVideosOfOtherCodecs(t *testing.T) {
	t.Parallel()
	source := enginetest.Clip(t, "a.mp4", "testsrc2=s=320x180:r=15000/1001:d=9", "-c:v", "libx264", "-preset", "ultrafast", "-g", "45", "-pix_fmt", "yuv420p")
	for _, codec := range video.ExtraCodecs {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			tools := newEngine(t)
			tools.Inspector = plan.NewInspector(probe.New(tools.run, probe.Config{}), plan.Config{Chunking: twoSeconds})
			job := enginetest.NewJob(t, source)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"360p"}})
			if err != nil || len(plan.Chunks) < 2 {
				t.Fatalf("Inspect = %+v, %v; want a plan in several chunks", plan, err)
			}
			plan = plan.Beside(codec, []int{0})
			film := joinChunks(t, tools, job, plan)
			look := probeFile(t, film, "v:0")
			sameTimes(t, look.times(t), since(probeFile(t, source, "v:0").times(t)))
			if s := look.Streams[0]; s.Codec != string(codec) || s.PixelFormat != "yuv420p" || s.Matrix != "smpte170m" {
				t.Errorf("the video is %+v; want %s with the colours of SD", s, codec)
			}
			keys := 0
			for _, p := range look.Packets {
				keys += strings.Count(p.Flags, "K")
			}
			if keys < 5 || keys > 5+len(plan.Chunks) {
				t.Errorf("%d keyframes in nine seconds of %d chunks; want one every two seconds", keys, len(plan.Chunks))
			}
			if raw, err := os.ReadFile(film); err != nil || bytes.Count(raw, []byte(sampleEntries[codec])) > 2 {
				t.Errorf("the video has more than one configuration of the decoder (%v)", err)
			}
		})
	}
}

// joinChunks encodes all chunks and assembles the first rendition.
func joinChunks(t *testing.T, tools *engine, job ffmpeg.Job, plan *video.Plan) string {
	t.Helper()
	var pieces []mp4.Input
	for n, c := range plan.Chunks {
		if c.Start >= c.End { // a worker leaves it out
			continue
		}
		part := job
		part.OutDir = t.TempDir()
		outputs, err := tools.EncodeChunk(t.Context(), part, plan, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(outputs[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, mp4.Input{ReaderAt: bytes.NewReader(b), Size: int64(len(b))})
	}
	var film bytes.Buffer
	if _, err := mp4.Assemble(&film, pieces, nil, mp4.Timing{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "video.mp4")
	if err := os.WriteFile(path, film.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// SVT-AV1 takes no picture below 64 × 64, but for its newest versions. It is not tried again and again.
func TestAPictureThatIsTooSmallForACodec(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=62x62:r=5:d=1", "-map", "0:v"))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.EncodeChunk(t.Context(), job, p, 0, nil); err != nil {
		t.Errorf("H.264: %v", err)
	}
	p.Codec = video.AV1
	_, err = tools.EncodeChunk(t.Context(), job, p, 0, nil)
	if f, is := errors.AsType[*video.Failure](err); err != nil && (!is || f.Code != video.UnsupportedCodec) {
		t.Errorf("AV1: %v", err)
	}
}

// Hardware that worked at start may be busy or gone later. Here it was never
// there, which ffmpeg finds out in the same way.
func TestSoftwareStepsInForHardware(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tools := newEngine(t)
	tools.log = slog.New(slog.NewTextHandler(&log, nil))
	tools.encoder = encoderNamed(t, "h264_vaapi")
	tools.encoder.setup = []string{"-vaapi_device", "/dev/dri/no-such-device"}
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=160x90:r=25:d=1", "-c:v", "libx264", "-pix_fmt", "yuv420p"))
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil)
	if err != nil || outputs[0].Frames != 25 {
		t.Errorf("EncodeChunk = %+v, %v; want 25 frames from software", outputs, err)
	}
	if !strings.Contains(log.String(), "hardware could not encode") || !strings.Contains(log.String(), "h264_vaapi") {
		t.Errorf("the log says %q; want why hardware was not used", log.String())
	}
}
