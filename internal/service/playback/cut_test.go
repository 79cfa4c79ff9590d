package playback

import (
	"errors"
	"testing"

	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/engine/mp4"
)

func TestASegmentInUseIsCutOnce(t *testing.T) {
	t.Parallel()
	p := &Player{cuts: cache.New[cutID, cut](cutCacheSize)}
	read := 0
	get := func(number int) {
		t.Helper()
		_, err := p.cutOf(t.Context(), cutID{key: "k", etag: "e", track: "360p", number: number}, func() (cut, error) {
			read++
			return cut{parts: []mp4.Part{{Bytes: make([]byte, 64<<10)}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const many = 4 * cutCacheSize / (64 << 10)
	for i := 1; i < many; i++ {
		get(i)
		get(0)
	}
	if read != many {
		t.Errorf("%d of %d segments were cut; want each once, and the one in use no more than that", read, many)
	}
	broken := errors.New("broken")
	for range 2 {
		if _, err := p.cutOf(t.Context(), cutID{key: "other"}, func() (cut, error) { return cut{}, broken }); err != broken {
			t.Errorf("error = %v; want that of reading", err)
		}
	}
}
