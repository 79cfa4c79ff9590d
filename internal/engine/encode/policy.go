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
	// baseFiles is for what is written beside the outputs, as tables of colours.
	baseFiles = 64
)

// encodePolicy allows a run to read the source and to write what a video of this
// length can need.
func (enc *Encoder) encodePolicy(job ffmpeg.Job, p *video.Plan, length time.Duration) sandbox.Policy {
	pixels := int64(p.Input.CodedWidth) * int64(p.Input.CodedHeight)
	var rate, rates int64 // bytes a second
	for _, r := range p.Renditions {
		pixels += int64(r.Width) * int64(r.Height)
		each := int64(capOf(r, p.Input.FrameRate)) * 1000 / 8
		rate, rates = max(rate, each), rates+each
	}
	return sandbox.Policy{
		Read: []string{job.Source}, WriteDir: job.OutDir,
		Memory:   baseMemory + frameMemory*pixels*3/2,
		FileSize: baseFile + 4*rate*int64(length/time.Second),
		CPU:      baseTime + maxSlowdown*length,
		Threads:  ffmpeg.MaxThreads(len(p.Renditions)),
		Files:    baseFiles + len(p.Renditions),
		Space:    baseFile + 4*rates*int64(length/time.Second),
	}
}

// thumbnailPolicy allows a run to write JPEGs. They are copied in the same
// folder.
func (enc *Encoder) thumbnailPolicy(job ffmpeg.Job, p *video.Plan) sandbox.Policy {
	const usual, perPixel = 64 << 10, 2 // noise has about one byte for each pixel
	may := enc.encodePolicy(job, p, p.Duration)
	may.FileSize, may.Space = 0, baseFile
	for _, r := range p.Renditions {
		may.FileSize = max(may.FileSize, maxJPEG(r))
		may.Space += 2 * int64(len(p.Thumbnails)) * (usual + perPixel*int64(r.Width)*int64(r.Height))
	}
	may.Files = baseFiles + 2*len(p.Thumbnails)*len(p.Renditions)
	return may
}
