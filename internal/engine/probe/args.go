package probe

import (
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
)

// probeMemory is the memory limit of ffprobe; an 8K video needs 107 MiB.
const probeMemory = 512 << 20

// probePolicy allows a run to read the source.
func probePolicy(job ffmpeg.Job, wall time.Duration) sandbox.Policy {
	return sandbox.Policy{Read: []string{job.Source}, Memory: probeMemory, CPU: wall, Threads: ffmpeg.MaxThreads(0)}
}

// probeArgs asks for streams and packets. Decoders named in tolerate may be
// opened besides the allowed ones, because ffprobe rejects a file in which it
// cannot open all of them; but they never decode anything. sound says that the demuxers of
// files with sound alone may open the file.
func probeArgs(source string, tolerate []string, sound bool) []string {
	input := ffmpeg.InputArgs()
	if sound {
		input = ffmpeg.SoundInputArgs()
	}
	args := append([]string{"-v", "error", "-hide_banner", "-max_alloc", "268435456"}, input...)
	if len(tolerate) > 0 {
		for _, kind := range []string{"v", "a", "s"} {
			args = append(args, "-codec_whitelist:"+kind, ffmpeg.AllowedDecoders+","+strings.Join(tolerate, ","))
		}
	}
	return append(args,
		"-show_entries", strings.Join(entries, ":"),
		"-of", "json=compact=1", "-i", ffmpeg.FileURL(source))
}
