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

// dispositions are what a file may say of the purpose of a stream, as far as it
// is noted.
var dispositions = []string{
	"default", "dub", "original", "comment", "lyrics", "forced", "hearing_impaired", "visual_impaired", "attached_pic", "captions", "descriptions",
}

// probeArgs asks for streams and packets. Decoders named in tolerate may be
// opened besides the allowed ones, because ffprobe rejects a file in which it
// cannot open all of them; but they never decode anything.
func probeArgs(source string, tolerate []string) []string {
	args := append([]string{"-v", "error", "-hide_banner", "-max_alloc", "268435456"}, ffmpeg.InputArgs()...)
	if len(tolerate) > 0 {
		for _, kind := range []string{"v", "a", "s"} {
			args = append(args, "-codec_whitelist:"+kind, ffmpeg.AllowedDecoders+","+strings.Join(tolerate, ","))
		}
	}
	return append(args,
		"-show_entries", strings.Join([]string{
			"packet=codec_type,stream_index,pts,dts,duration,size,pos,flags", "packet_side_data=side_data_type",
			"stream=index,codec_type,codec_name,codec_tag_string,width,height,pix_fmt,sample_aspect_ratio,field_order," +
				"color_range,color_space,color_transfer,color_primaries,avg_frame_rate,time_base,bit_rate,channels,nb_frames",
			"stream_disposition=" + strings.Join(dispositions, ","),
			"stream_tags=language,title",
			"stream_side_data=side_data_type,rotation,dv_profile,dv_bl_signal_compatibility_id",
			"format=format_name,start_time,duration",
		}, ":"),
		"-of", "json=compact=1", "-i", ffmpeg.FileURL(source))
}
