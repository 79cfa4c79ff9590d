package media

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// script makes an executable that stands in for ffmpeg where the real one
// cannot be made to misbehave.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNewFindsTheTools(t *testing.T) {
	t.Parallel()
	tools := newTools(t)
	if v := tools.Version(); v == "" || v[0] < '0' || v[0] > '9' && v[0] != 'n' && v[0] != 'N' {
		t.Errorf("Version = %q; want a version", v)
	}
	_, err := New(t.Context(), Config{FFmpeg: "/nowhere/ffmpeg"})
	if err == nil || !strings.Contains(err.Error(), "install the ffmpeg package") {
		t.Errorf("New without ffmpeg = %v; want advice", err)
	}
	_, err = New(t.Context(), Config{FFmpeg: script(t, "echo nothing\n")})
	if err == nil || !strings.Contains(err.Error(), "libx264") {
		t.Errorf("New with a poor build = %v; want the missing encoder named", err)
	}
}

// TestStopKillsTheWholeGroup cancels a child that has a child of its own, which
// holds the pipe open.
func TestStopKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	stop := errors.New("deleted by its owner")
	ctx, cancel := context.WithCancelCause(t.Context())
	begun := time.Now()
	tools := &Tools{sandbox: new(sandbox.Sandbox)}
	_, err := tools.run(ctx, process{
		bin: script(t, "sleep 60 &\necho started\nwait\n"),
		stdout: func(r io.Reader) error {
			if _, err := r.Read(make([]byte, 16)); err != nil {
				return err
			}
			cancel(stop)
			_, err := io.Copy(io.Discard, r) // ends when nobody holds the pipe any more
			return err
		},
	})
	if !errors.Is(err, stop) {
		t.Errorf("run = %v; want the cause of the stop", err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

func TestStalledRunIsKilled(t *testing.T) {
	t.Parallel()
	tools := &Tools{sandbox: new(sandbox.Sandbox), ffmpeg: script(t, "while :; do echo frame=7; echo out_time_us=N/A; sleep 0.05; done\n"), stall: 200 * time.Millisecond}
	_, err := tools.EncodeChunk(t.Context(), Job{OutDir: t.TempDir()}, basicPlan(nil), 0, nil)
	if !errors.Is(err, ErrStalled) {
		t.Errorf("EncodeChunk = %v; want ErrStalled", err)
	}
}

func TestRunKeepsTheEndOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	tools := &Tools{sandbox: new(sandbox.Sandbox)}
	stderr, err := tools.run(t.Context(), process{
		bin:    script(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i of a very long complaint about nothing in particular, at length" >&2; i=$((i+1)); done; echo "the last word" >&2; env >&2; exit 3`),
		stdout: func(r io.Reader) error { return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the last word") {
		t.Errorf("run = %v; want the status and the last word", err)
	}
	if len(stderr) > keptStderr || len(err.Error()) > quotedStderr+100 {
		t.Errorf("kept %d bytes and quoted %d", len(stderr), len(err.Error()))
	}
	if strings.Contains(stderr, "GOPATH=") || strings.Contains(stderr, "USER=") || !strings.Contains(stderr, "HOME=/nonexistent") {
		t.Error("the child saw our environment")
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
		{"no file and no complaint in a film of one chunk", "exit 0", oneChunk,
			func(_ []Output, err error) bool { return isFailure(err, video.Corrupt) }},
		{"nothing decodable in one of several chunks", "echo 'Invalid data found when processing input' >&2; exit 1", nil,
			func(o []Output, err error) bool { return len(o) == 0 && err == nil }},
		{"a file that is no MP4", "for i in 0 1 2; do echo junkjunkjunk > v$i.mp4; done", oneChunk,
			func(_ []Output, err error) bool { return err != nil && !isFailure(err, video.Corrupt) }},
		{"an error that is not the film's", "echo 'Unknown encoder' >&2; exit 1", oneChunk,
			func(_ []Output, err error) bool {
				return err != nil && strings.Contains(err.Error(), "Unknown encoder") && !isFailure(err, video.Corrupt)
			}},
		{"killed by the kernel", "kill -9 $$", oneChunk,
			func(_ []Output, err error) bool { return err != nil && !isFailure(err, video.Corrupt) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tools := &Tools{sandbox: new(sandbox.Sandbox), ffmpeg: script(t, tt.script), stall: time.Minute}
			outputs, err := tools.EncodeChunk(t.Context(), Job{OutDir: t.TempDir()}, basicPlan(tt.change), 0, nil)
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

// TestInspectBlamesTheRightOne tells bad films from trouble of ours.
func TestInspectBlamesTheRightOne(t *testing.T) {
	t.Parallel()
	tools := newTools(t)
	film := clip(t, "a.mp4", "testsrc2=s=64x64:r=25:d=1", "-an")
	whole, err := os.ReadFile(film)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "film")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, source string
		want         video.FailureCode // "" means that the film is not to blame
	}{
		{"no such file", filepath.Join(t.TempDir(), "missing"), ""},
		{"empty file", write(nil), video.UploadEmpty},
		{"cut off before its index", write(whole[:len(whole)/2]), video.Truncated},
		{"playlist", write([]byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nother.mp4\n#EXT-X-ENDLIST\n")), video.NotAVideo},
		{"sound only", clip(t, "a.m4a", "testsrc2=d=1", "-map", "1:a"), video.NoVideoStream},
		{"cover picture and sound", clip(t, "a.m4a", "testsrc2=s=64x64:d=0.04", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-disposition:v", "attached_pic"), video.NoVideoStream},
		{"a decoder that may not run", clip(t, "a.mkv", "testsrc2=s=64x64:d=0.2", "-c:v", "magicyuv"), video.UnsupportedCodec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tools.Inspect(t.Context(), newJob(t, tt.source), Ask{Names: []video.Name{"144p"}})
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
