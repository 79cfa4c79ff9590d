package ffmpeg

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/child"
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
		"[aist#0:1/aac @ 0x5] [dec:aac @ 0x6] Decoding error: Invalid data found when processing input\n" +
		"Error while decoding stream #0:1: Not yet implemented in FFmpeg, patches welcome\n" +
		"[aist#0:1/amrnb @ 0x5] [dec:amrnb @ 0x6] Error submitting packet to decoder: Not yet implemented in FFmpeg, patches welcome\n"
	c := newUndecodedCounter(1)
	if _, err := io.Copy(c, iotest.OneByteReader(strings.NewReader(said+strings.Repeat("x", 1<<20)))); err != nil || c.packets != 4 {
		t.Errorf("counted %d packets, %v; want 4", c.packets, err)
	}
	if len(c.line) > 1<<10 {
		t.Errorf("%d bytes of a line are kept", len(c.line))
	}
}

// TestComplaintsThatAreCountedMayBeLong stands for a long film whose audio is all damaged.
func TestComplaintsThatAreCountedMayBeLong(t *testing.T) {
	t.Parallel()
	script := fmt.Sprintf(`echo progress=end; head -c %d /dev/zero >&2; printf '\nError while decoding stream #0:1: Invalid data found\n' >&2`, maxStderr+1)
	r := &Runner{ffmpeg: child.Script(t, script), sandbox: new(sandbox.Sandbox), stall: 1 << 40}
	packets, stderr, err := r.EncodeCounting(t.Context(), Job{}, sandbox.Policy{}, nil, 1, func(float64) {})
	if err != nil || packets != 1 || len(stderr) > keptStderr {
		t.Errorf("counted %d packets and kept %d bytes, %v; want the packet behind the limit of other runs", packets, len(stderr), err)
	}
}
