package ffmpeg

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestUndecodedPacketsAreCounted(t *testing.T) {
	t.Parallel()
	const said = "[aac @ 0x5] channel element 3.10 is not allocated\n" +
		"Error while decoding stream #0:1: Invalid data found when processing input\n" + // 5.1
		"Error while decoding stream #0:1: Invalid data found when processing input\n" +
		"Error while decoding stream #0:10: Invalid data found when processing input\n" +
		"Error while decoding stream #1:1: Invalid data found when processing input\n" +
		"[aist#0:1/aac @ 0x5] [dec:aac @ 0x6] Error submitting packet to decoder: Invalid data found when processing input\n" + // 7.1
		"[vist#0:0/h264 @ 0x5] [dec:h264 @ 0x6] Error submitting packet to decoder: Invalid data found when processing input\n" +
		"[aist#0:1/aac @ 0x5] [dec:aac @ 0x6] Decoding error: Invalid data found when processing input\n"
	c := newUndecodedCounter(1)
	if _, err := io.Copy(c, iotest.OneByteReader(strings.NewReader(said+strings.Repeat("x", 1<<20)))); err != nil || c.packets != 4 {
		t.Errorf("counted %d packets, %v; want 4", c.packets, err)
	}
	if len(c.line) > 1<<10 {
		t.Errorf("%d bytes of a line are kept", len(c.line))
	}
}
