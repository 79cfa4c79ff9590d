package encode

import (
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// What a run may use. The figures are several times what honest videos were measured
// to need, so that only hostile or broken ones reach them.
const (
	baseMemory = 1 << 30 // decoder, filters and encoders of small frames
	// frameMemory is how many frames of each size decoder, filters and encoder
	// may keep: x264 alone keeps some fifty for lookahead, and some for each
	// thread.
	frameMemory = 100

	baseTime = 10 * time.Minute
	// maxSlowdown is how many seconds of processor time a second of video may
	// take: tone mapping of 8K on an old machine.
	maxSlowdown = 300

	baseFile = 256 << 20
)

// encodePolicy allows a run to read the source and to write what a video of this
// length can need.
func encodePolicy(job ffmpeg.Job, p *video.Plan, length time.Duration) sandbox.Policy {
	pixels := int64(p.Input.CodedWidth) * int64(p.Input.CodedHeight)
	var rate int64
	for _, r := range p.Renditions {
		pixels += int64(r.Width) * int64(r.Height)
		rate = max(rate, int64(maxBitrate(r, p.Input.FrameRate))*1000/8)
	}
	return sandbox.Policy{
		Read: []string{job.Source}, WriteDir: job.OutDir,
		Memory:   baseMemory + frameMemory*pixels*3/2,
		FileSize: baseFile + 4*rate*int64(length/time.Second),
		CPU:      baseTime + maxSlowdown*length,
	}
}
