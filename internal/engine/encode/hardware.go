package encode

import (
	"fmt"
	"strconv"

	"github.com/spool-video/spool/internal/video"
)

// The encoders of graphics hardware. They have none of our presets and give less
// quality per bit than software; their options follow ffmpeg's
// documentation. No machine with such hardware was available when this was
// written: whether it works is tested at start.

// tags are the sample entries that players require, where ffmpeg's default is
// another.
var tags = map[video.Codec][]string{video.HEVC: {"-tag:v", "hvc1"}}

// constantQuality is about where hardware looks like software with its CRF. AV1
// has another scale.
func constantQuality(codec video.Codec) string {
	if codec == video.AV1 {
		return "32"
	}
	return "24"
}

func nvenc(name string, codec video.Codec) codecEncoder {
	return codecEncoder{
		name: name, codec: codec, accelerator: NVENC, costFactor: 2,
		devices: []string{"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
		args: func(o settings) []string {
			args := []string{"-c:v", name, "-preset", "p5", "-rc", "vbr", "-cq", constantQuality(codec), "-b:v", "0"}
			args = append(args, o.bitrateCap()...)
			args = append(args, tags[codec]...)
			return append(args, "-pix_fmt", "yuv420p", "-forced-idr", "1", "-no-scenecut", "1", "-g", "100000")
		},
	}
}

func quickSync(name string, codec video.Codec) codecEncoder {
	return codecEncoder{
		name: name, codec: codec, accelerator: QSV, costFactor: 2,
		setup:   []string{"-init_hw_device", "qsv=hw:" + renderNode},
		devices: []string{renderNode},
		args: func(o settings) []string {
			// Quality and two rates together select QVBR: constant quality with a cap.
			args := []string{"-c:v", name, "-preset", "medium", "-global_quality", constantQuality(codec), "-b:v", average(o)}
			args = append(args, o.bitrateCap()...)
			args = append(args, tags[codec]...)
			return append(args, "-pix_fmt", "nv12", "-forced_idr", "1", "-g", "100000")
		},
	}
}

func vaapi(name string, codec video.Codec) codecEncoder {
	return codecEncoder{
		name: name, codec: codec, accelerator: VAAPI, costFactor: 2,
		setup:   []string{"-vaapi_device", renderNode},
		upload:  "format=nv12,hwupload",
		devices: []string{renderNode},
		args: func(o settings) []string {
			// Not every driver has constant quality with a cap.
			args := []string{"-c:v", name, "-rc_mode", "VBR", "-b:v", average(o)}
			args = append(args, o.bitrateCap()...)
			args = append(args, tags[codec]...)
			if codec == video.H264 {
				args = append(args, "-profile:v", "high")
			}
			return append(args, "-g", strconv.Itoa(1<<10))
		},
	}
}

// average is the target bitrate for encoders that need one.
func average(o settings) string { return fmt.Sprintf("%dk", max(o.kbps*2/3, 1)) }
