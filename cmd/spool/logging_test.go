package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestLogFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "level=INFO msg=hello pause=1.5s", "json": `"msg":"hello","pause":"1.5s"`, "auto": `"msg":"hello","pause":"1.5s"`,
	} {
		var out bytes.Buffer
		log := newLogger(&out, format, slog.LevelInfo)
		log.Debug("whisper")
		log.Info("hello", "pause", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "whisper") {
			t.Errorf("log_format %s writes %q; want %q in it, and nothing below info", format, out.String(), want)
		}
	}
}
