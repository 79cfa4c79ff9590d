package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// The doctor gives other advice for a script in place of ffmpeg than for a kernel without a sandbox.
func TestAScriptIsNotFFmpeg(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "ffmpeg.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec ffmpeg \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := doctorCommand{Config: Config{FFmpeg: script, FFprobe: script, Sandbox: "on"}}
	_, err := c.doctorConfig().Confine(t.Context())
	if _, unfit := errors.AsType[*sandbox.UnfitError](err); !unfit || !strings.Contains(err.Error(), "is a script") {
		t.Errorf("a script gets the error %v", err)
	}
}
