package imports

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/spool-video/spool/internal/engine/probe"
)

// The beginning of a file is judged once, when enough of it is there, however it arrives.
func TestTheBeginningOfAFileIsJudged(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no video")
	file := bytes.Repeat([]byte("spool"), probe.SniffSize)
	for name, tt := range map[string]struct {
		size    int
		refused bool
		fetched int // at most
	}{
		"a video":            {len(file), false, len(file)},
		"no video":           {len(file), true, 2 * probe.SniffSize},
		"just long enough":   {probe.SniffSize, true, probe.SniffSize},
		"too short to judge": {probe.SniffSize - 1, false, probe.SniffSize},
	} {
		judged := 0
		in := &body{ctx: t.Context(), cancel: func(error) {}, left: -1, check: func(int64) error { return nil }, count: new(atomic.Int64), timing: Timing{}.withDefaults()}
		in.src = iotest.HalfReader(bytes.NewReader(file[:tt.size]))
		in.head = &head{admit: func(head []byte) error {
			judged++
			if !bytes.Equal(head, file[:probe.SniffSize]) {
				t.Errorf("%s: judged by %d other bytes", name, len(head))
			}
			if tt.refused {
				return refusal
			}
			return nil
		}}
		_, err := io.Copy(io.Discard, struct{ io.Reader }{in})
		if err != nil || errors.Is(in.err, refusal) != tt.refused || in.count.Load() > int64(tt.fetched) {
			t.Errorf("%s: %d bytes were fetched, %v, %v; want at most %d", name, in.count.Load(), in.err, err, tt.fetched)
		}
		if want := tt.size >= probe.SniffSize; judged > 1 || (judged == 1) != want {
			t.Errorf("%s: it was judged %d times", name, judged)
		}
	}
	if err := (*head)(nil).check(file); err != nil {
		t.Error(err)
	}
}
