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
	text := []byte("WEBVTT\n\n" + strings.Repeat("00:01.000 --> 00:02.000\n"+line+"\n\n", 100))
	reads := 0
	get := func(n int) {
		t.Helper()
		got, err := p.captionsOf(t.Context(), textVersion{fmt.Sprint(n), "e"}, func() ([]byte, error) { reads++; return text, nil })
		if err != nil || len(got.cues) != 100 || got.end != 2*time.Second {
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
