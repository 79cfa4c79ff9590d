package video_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/video"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	full := &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage"}
	tests := []struct {
		name string
		err  error
		want video.Kind
	}{
		{"an error of ours", video.VideoNotFound(), video.NotFound},
		{"wrapped once", fmt.Errorf("read video: %w", video.VideoNotFound()), video.NotFound},
		{"wrapped three times", fmt.Errorf("a: %w", fmt.Errorf("b: %w", fmt.Errorf("c: %w", full))), video.InsufficientStorage},
		{"joined behind another", errors.Join(errors.New("close"), full), video.InsufficientStorage},
		{"the outermost of two decides", &video.Error{Kind: video.Unavailable, Err: full}, video.Unavailable},
		{"one that nobody classified", errors.New("disk on fire"), video.Internal},
		{"an end of the context", context.Canceled, video.Internal},
		{"a failure of a video is no trouble of a request", video.Failf(video.Corrupt, "Broken."), video.Internal},
		{"none", nil, video.Internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := video.KindOf(tt.err); got != tt.want {
				t.Errorf("KindOf(%v) = %s, want %s", tt.err, got, tt.want)
			}
		})
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	err := fmt.Errorf("create: %w", &video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "Try again.", Err: cause})
	if !errors.Is(err, cause) {
		t.Error("the cause is not found behind the error")
	}
	if got, want := err.Error(), "create: database_unavailable: Try again.: connection refused"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if got, want := video.VideoNotFound().Error(), "video_not_found: There is no video with this id."; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestNotFoundErrors(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*video.Error{
		"video_not_found": video.VideoNotFound(), "resolution_not_found": video.ResolutionNotFound(),
	} {
		if e.Code != want || e.Kind != video.NotFound || e.Msg == "" {
			t.Errorf("%+v, want code %s", e, want)
		}
	}
	if a, b := video.VideoNotFound(), video.VideoNotFound(); a == b {
		t.Error("callers share one value, which each of them could change")
	}
}

func TestFailf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, format string
		args         []any
		want         string
	}{
		{"a short sentence", "The file has %d streams.", []any{3}, "The file has 3 streams."},
		{"300 characters", strings.Repeat("a", 300), nil, strings.Repeat("a", 300)},
		{"301 characters", strings.Repeat("a", 301), nil, strings.Repeat("a", 299) + "…"},
		{"300 characters of four bytes", strings.Repeat("🎬", 300), nil, strings.Repeat("🎬", 300)},
		{"cut between characters, not between bytes", "%s", []any{strings.Repeat("🎬", 1000)}, strings.Repeat("🎬", 299) + "…"},
		{"bytes that are no text", "codec %s", []any{"\xff\xfe"}, "codec \ufffd\ufffd"},
		{"nothing", "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := video.Failf(video.Corrupt, tt.format, tt.args...)
			if f.Code != video.Corrupt || f.Message != tt.want {
				t.Errorf("Failf = %s %q, want %q", f.Code, f.Message, tt.want)
			}
			if n := utf8.RuneCountInString(f.Message); n > video.MaxFailureMessage || !utf8.ValidString(f.Message) {
				t.Errorf("message has %d characters, valid: %t", n, utf8.ValidString(f.Message))
			}
		})
	}
}

func TestFailureIsFoundBehindWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("inspect: %w", video.Failf(video.NoVideoStream, "There are no pictures in this file."))
	f, ok := errors.AsType[*video.Failure](err)
	if !ok || f.Code != video.NoVideoStream {
		t.Fatalf("AsType = %+v, %t", f, ok)
	}
	if got, want := f.Error(), "no_video_stream: There are no pictures in this file."; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}
