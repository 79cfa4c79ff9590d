package playback

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheTextCacheIsBounded(t *testing.T) {
	t.Parallel()
	c, reads := newTextCache(), 0
	line := strings.Repeat("x", 10_000)
	text := []byte("WEBVTT\n\n" + strings.Repeat("00:01.000 --> 00:02.000\n"+line+"\n\n", 100))
	get := func(n int) {
		t.Helper()
		got, err := c.get(textVersion{fmt.Sprint(n), "e"}, func() ([]byte, error) { reads++; return text, nil })
		if err != nil || len(got.cues) != 100 || c.size > textCacheSize || len(c.entries) != c.recent.Len() {
			t.Fatalf("%d: %v; the cache has %d bytes and %d of %d entries", n, err, c.size, len(c.entries), c.recent.Len())
		}
	}
	for n := range 20 {
		get(n)
		get(n)
	}
	if reads != 20 || len(c.entries) < 5 {
		t.Errorf("%d reads for 20 texts; %d are kept", reads, len(c.entries))
	}
	if get(0); reads != 21 {
		t.Error("the first one is still kept")
	}
}
