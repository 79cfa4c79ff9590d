package playback

import (
	"errors"
	"testing"

	"github.com/spool-video/spool/internal/engine/mp4"
)

func TestCutsAreBounded(t *testing.T) {
	t.Parallel()
	var c cutCache
	read := 0
	get := func(number int) {
		t.Helper()
		_, err := c.get(cutID{key: "k", etag: "e", track: "360p", number: number}, func() (cut, error) {
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
	size := int64(0)
	for _, generation := range []map[cutID]cut{c.young, c.old} {
		for _, x := range generation {
			size += x.footprint()
		}
	}
	if size > cutCacheSize {
		t.Errorf("the cache takes %d bytes; want at most %d", size, int64(cutCacheSize))
	}
	broken := errors.New("broken")
	for range 2 {
		if _, err := c.get(cutID{key: "other"}, func() (cut, error) { return cut{}, broken }); err != broken {
			t.Errorf("error = %v; want that of reading", err)
		}
	}
}
