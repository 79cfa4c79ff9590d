package playback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/cache"
)

func TestCaptionsInUseAreReadOnce(t *testing.T) {
	t.Parallel()
	p := &Player{captions: cache.New[textVersion, *cachedText](textCacheSize)}
	line := strings.Repeat("x", 10_000)
	text := []byte("WEBVTT\n\n")
	for n := range 100 {
		text = fmt.Appendf(text, "%02d:%02d.000 --> %02[1]d:%02[2]d.500\n%s\n\n", n/10, n%10*6, line)
	}
	reads := 0
	get := func(n int) {
		t.Helper()
		got, err := p.captionsOf(t.Context(), textVersion{fmt.Sprint(n), "e"}, func() ([]byte, error) { reads++; return text, nil })
		if err != nil || len(got.cues) != 100 || got.end != 9*time.Minute+54500*time.Millisecond {
			t.Fatalf("%d: %v; captions of %v", n, err, got)
		}
	}
	const many = textCacheSize / 1_000_000 // each takes twice as much
	for n := range many {
		get(n)
		get(n)
	}
	if reads != many {
		t.Errorf("%d reads for %d texts", reads, many)
	}
	if get(0); reads != many+1 {
		t.Error("the first one is still kept")
	}
}
