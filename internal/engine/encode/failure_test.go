package encode

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/child"
)

// scripted returns an encoder whose ffmpeg is a script that passes the self-test
// of a runner and then does what body says.
func scripted(t *testing.T, body string, stall time.Duration) *Encoder {
	t.Helper()
	path := child.Script(t, `[ "$1" = -encoders ] && { echo " libx264 aac mjpeg "; echo "ffmpeg version 7.1" >&2; exit 0; }`+"\necho progress=end\n"+body)
	run, err := ffmpeg.New(t.Context(), ffmpeg.Config{FFmpeg: path, FFprobe: path, StallTimeout: stall})
	if err != nil {
		t.Fatal(err)
	}
	return &Encoder{run: run, encoder: encodersFor(video.H264, Software)[0], log: slog.New(slog.DiscardHandler)}
}

func TestStalledRunIsKilled(t *testing.T) {
	t.Parallel()
	e := scripted(t, "while :; do echo frame=7; echo out_time_us=N/A; sleep 0.05; done\n", 200*time.Millisecond)
	_, err := e.EncodeChunk(t.Context(), ffmpeg.Job{OutDir: t.TempDir()}, basicPlan(nil), 0, nil)
	if !errors.Is(err, ffmpeg.ErrStalled) {
		t.Errorf("EncodeChunk = %v; want ErrStalled", err)
	}
}

// TestExitStatusIsNoProof plays what ffmpeg has been seen to do.
func TestExitStatusIsNoProof(t *testing.T) {
	t.Parallel()
	oneChunk := func(p *video.Plan) { p.Chunks = p.Chunks[:1] }
	tests := []struct {
		name, script string
		change       func(*video.Plan)
		check        func([]Output, error) bool
	}{
		{"a full disk, status 0", "echo 'Error closing file: No space left on device' >&2", oneChunk,
			func(_ []Output, err error) bool { return errors.Is(err, syscall.ENOSPC) }},
		{"no file and no complaint in a video of one chunk", "exit 0", oneChunk,
			func(_ []Output, err error) bool { return isFailure(err, video.Corrupt) }},
		{"nothing decodable in one of several chunks", "echo 'Invalid data found when processing input' >&2; exit 1", nil,
			func(o []Output, err error) bool { return len(o) == 0 && err == nil }},
		{"a file that is no MP4", "for i in 0 1 2; do echo junkjunkjunk > v$i.mp4; done", oneChunk,
			func(_ []Output, err error) bool { return err != nil && !isFailure(err, video.Corrupt) }},
		{"an error that is not the video's", "echo 'Unknown encoder' >&2; exit 1", oneChunk,
			func(_ []Output, err error) bool {
				return err != nil && strings.Contains(err.Error(), "Unknown encoder") && !isFailure(err, video.Corrupt)
			}},
		{"killed by the kernel", "kill -9 $$", oneChunk,
			func(_ []Output, err error) bool { return err != nil && !isFailure(err, video.Corrupt) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			outputs, err := scripted(t, tt.script, time.Minute).EncodeChunk(t.Context(), ffmpeg.Job{OutDir: t.TempDir()}, basicPlan(tt.change), 0, nil)
			if !tt.check(outputs, err) {
				t.Errorf("EncodeChunk = %v, %v", outputs, err)
			}
		})
	}
}

func isFailure(err error, code video.FailureCode) bool {
	f, ok := errors.AsType[*video.Failure](err)
	return ok && f.Code == code
}

// TestInspectBlamesTheRightOne tells bad videos from trouble of ours.
func TestInspectBlamesTheRightOne(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	film := enginetest.Clip(t, "a.mp4", "testsrc2=s=64x64:r=25:d=1", "-an")
	whole, err := os.ReadFile(film)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "video")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, source string
		want         video.FailureCode // "" means that the video is not to blame
	}{
		{"no such file", filepath.Join(t.TempDir(), "missing"), ""},
		{"empty file", write(nil), video.UploadEmpty},
		{"cut off before its index", write(whole[:len(whole)/2]), video.Truncated},
		{"playlist", write([]byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nother.mp4\n#EXT-X-ENDLIST\n")), video.NotAVideo},
		{"audio only", enginetest.Clip(t, "a.m4a", "testsrc2=d=1", "-map", "1:a"), video.NoVideoStream},
		{"cover frame and audio", enginetest.Clip(t, "a.m4a", "testsrc2=s=64x64:d=0.04", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-disposition:v", "attached_pic"), video.NoVideoStream},
		{"a decoder that may not run", enginetest.Clip(t, "a.mkv", "testsrc2=s=64x64:d=0.2", "-c:v", "magicyuv"), video.UnsupportedCodec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tools.Inspect(t.Context(), enginetest.NewJob(t, tt.source), plan.Request{Names: []video.Name{"144p"}})
			f, isFailure := errors.AsType[*video.Failure](err)
			if err == nil || isFailure != (tt.want != "") || isFailure && f.Code != tt.want {
				t.Errorf("Inspect = %v; want %q", err, tt.want)
			}
			if isFailure && strings.Contains(f.Message, "/") {
				t.Errorf("the message shows a path: %q", f.Message)
			}
		})
	}
}
