package encode

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// It is not parallel: the encoder has to prove itself in time.
func TestSoftwareProvesItself(t *testing.T) {
	tools := newEngine(t)
	for _, codec := range append([]video.Codec{video.H264}, video.ExtraCodecs...) {
		if e, err := tools.choose(t.Context(), codec, Software); err != nil || e.codec != codec || e.accelerator != Software {
			t.Errorf("choose(%s) = %s, %v; want software", codec, e.name, err)
		}
	}
}

// No device of that name exists anywhere, so this test needs no particular
// machine.
func TestHardwareThatIsMissingIsReplaced(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tools := newEngine(t)
	tools.log = slog.New(slog.NewTextHandler(&log, nil))
	missing := encoderNamed(t, "h264_vaapi")
	missing.setup = []string{"-vaapi_device", "/dev/dri/no-such-device"}
	e, err := tools.firstThatWorks(t.Context(), []codecEncoder{missing, encoderNamed(t, "libx264")})
	if err != nil || e.name != "libx264" {
		t.Fatalf("chose %s, %v; want libx264", e.name, err)
	}
	for _, want := range []string{"level=WARN", "h264_vaapi", "no-such-device", "level=INFO"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("the log has %d lines, want one for each encoder:\n%s", n, log.String())
	}
}

func TestAnEncoderHasToProveItself(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	x264 := encoderNamed(t, "libx264")
	with := func(args ...string) codecEncoder {
		e := x264
		e.args = func(o settings) []string { return append(x264Args(o), args...) }
		return e
	}
	deaf := encoderNamed(t, "libsvtav1")
	deaf.fixedGOP = false
	tests := []struct {
		name string
		e    codecEncoder
		want string // "" means that it works
	}{
		{"one that works", x264, ""},
		{"one that ffmpeg does not have", with("-c:v", "libx999"), "libx999"},
		{"one that drops frames", with("-frames:v", "20"), "20 frames of 25"},
		{"one that adds keyframes", with("-g", "5"), "keyframes at [0 5 10 15 20]"},
		{"one that cannot be told where to put them", deaf, "keyframes at [0]"},
		{"one that fails", with("-profile:v", "none"), "profile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tools.trial(t.Context(), tt.e)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("try = %v; want %q", err, tt.want)
			}
		})
	}
}

func TestNoEncoderIsAnError(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	if _, err := tools.choose(t.Context(), "vp10", Auto); err == nil || !strings.Contains(err.Error(), "vp10") {
		t.Errorf("choose = %v; want an error that names the codec", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tools.choose(ctx, video.H264, Software); !errors.Is(err, context.Canceled) {
		t.Errorf("choose while stopping = %v; want %v", err, context.Canceled)
	}
}

func TestReadTrial(t *testing.T) {
	t.Parallel()
	list := "#software: Lavf\n#tb 0: 1/25\n0, -2, 0, 1, 100, 0x1, S=1, 8\n0, -1, 4, 1, 10, 0x2, F=0x0\n0, 0, 2, 1, 10, 0x3, F=0x10\n0, 1, 5, 1, 90, 0x4\n"
	if frames, keys := readTrial([]byte(list)); frames != 4 || !slices.Equal(keys, []int{0, 3}) {
		t.Errorf("readTrial = %d, %v; want 4 packets with keys at 0 and 3", frames, keys)
	}
}
