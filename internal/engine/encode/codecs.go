package encode

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// Accelerator is the kind of hardware that encodes video.
type Accelerator string

const (
	Software Accelerator = "software" // the processor: the best quality for the size
	NVENC    Accelerator = "nvenc"    // NVIDIA
	QSV      Accelerator = "qsv"      // Intel Quick Sync
	VAAPI    Accelerator = "vaapi"    // Intel and AMD
	Auto     Accelerator = "auto"     // the first hardware that works, else software
)

// Accelerators lists every choice, the default first.
var Accelerators = []Accelerator{Software, NVENC, QSV, VAAPI, Auto}

// renderNode is the device of the first graphics card, which needs no screen.
const renderNode = "/dev/dri/renderD128"

// codecEncoder is one of ffmpeg's encoders, and how to configure it.
type codecEncoder struct {
	name        string // as ffmpeg calls it
	codec       video.Codec
	accelerator Accelerator
	setup       []string // options before the input
	upload      string   // filters that copy a frame to the device
	devices     []string // which devices it has to open
	// fixedGOP says that it puts a keyframe after every so many frames: it
	// cannot be told where. The others put them on the grid of keyGrid.
	fixedGOP   bool
	minSide    int // the smallest width and height that all versions take; 0: any
	costFactor int // how many times the memory, the time and the threads of x264 it may take
	args       func(settings) []string
}

// settings is what an encoder is asked for: one rendition of one chunk.
type settings struct {
	width, height int
	fps           float64 // 0 if unknown
	effort        effort
	kbps, buffer  int // cap of this chunk: kbit/s, kbit
	gop           int // frames from a keyframe to the next one, for encoders that cannot be told where to put them
	highest       int // cap of the whole rendition in kbit/s, which decides the level
	threads       int
	hdr           bool // 10 bits, and what is known of the light
	mastering     *video.Mastering
	light         *video.LightLevel
}

// encoders lists all that can be used. Every codec has one in software. For hardware, our
// presets do not exist, and it gives less quality per bit than software; the options follow
// ffmpeg's documentation. No machine with such hardware was available when this was written:
// whether it works is tested at start.
var encoders = []codecEncoder{
	{name: "libx264", codec: video.H264, accelerator: Software, costFactor: 1, args: x264Args},
	{name: "libx265", codec: video.HEVC, accelerator: Software, costFactor: 4, args: x265Args},
	{name: "libsvtav1", codec: video.AV1, accelerator: Software, fixedGOP: true, minSide: 64, costFactor: 4, args: svtArgs},
	{
		name: "h264_nvenc", codec: video.H264, accelerator: NVENC, costFactor: 2, args: nvencArgs,
		devices: []string{"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
	},
	{
		name: "h264_qsv", codec: video.H264, accelerator: QSV, costFactor: 2, args: quickSyncArgs,
		setup: []string{"-init_hw_device", "qsv=hw:" + renderNode}, devices: []string{renderNode},
	},
	{
		name: "h264_vaapi", codec: video.H264, accelerator: VAAPI, costFactor: 2, args: vaapiArgs,
		setup: []string{"-vaapi_device", renderNode}, devices: []string{renderNode}, upload: "format=nv12,hwupload",
	},
}

// encodersFor returns the encoders to try, best first; the last is software.
func encodersFor(codec video.Codec, want Accelerator) []codecEncoder {
	kinds := []Accelerator{want, Software}
	if want == Auto {
		kinds = []Accelerator{NVENC, QSV, VAAPI, Software}
	}
	var out []codecEncoder
	for _, k := range slices.Compact(kinds) {
		for _, e := range encoders {
			if e.codec == codec && e.accelerator == k {
				out = append(out, e)
			}
		}
	}
	return out
}

// policy grants an encoder what it needs beyond what x264 needs.
func (e codecEncoder) policy(p sandbox.Policy) sandbox.Policy {
	p.Devices = e.devices
	p.Memory *= int64(e.costFactor)
	p.CPU *= time.Duration(e.costFactor)
	p.Threads *= e.costFactor
	return p
}

// renditionArgs are the options that make rendition r of chunk n. They are the
// same in every chunk but for the cap, which is not written into the file: one
// decoder configuration has to fit all chunk files.
func (e codecEncoder) renditionArgs(p *video.Plan, r video.Rendition, n, threads int) []string {
	args := e.args(settingsFor(p, r, n, threads))
	if !e.fixedGOP {
		args = append(args, "-force_key_frames", keyframes(p, n))
	}
	return args
}

// noAutoKeyframes sets a distance between keyframes that no chunk reaches: they
// are where the grid puts them and nowhere else, so that all renditions can be
// cut at the same places.
var noAutoKeyframes = []string{"-g", "100000", "-sc_threshold", "0", "-flags", "+cgop"}

func (o settings) bitrateCap() []string {
	return []string{"-maxrate", fmt.Sprintf("%dk", o.kbps), "-bufsize", fmt.Sprintf("%dk", o.buffer)}
}

// rateInThousandths returns the frame rate for the encoder, or 0. Without it
// encoders use the rate that the container declares, which can be a thousand,
// and demand a level to match.
func (o settings) rateInThousandths() int { return int(math.Round(o.fps * 1000)) }

func x264Args(o settings) []string {
	refs := x264References[o.effort.preset]
	args := []string{"-c:v", "libx264", "-preset", o.effort.preset, "-crf", o.effort.rateFactor()}
	args = append(args, o.bitrateCap()...)
	args = append(args, "-profile:v", "high")
	if l, ok := levelOf(o.width, o.height, o.fps, o.highest, bufferSize(o.highest)); ok {
		refs = min(refs, l.references(o.width, o.height))
		args = append(args, "-level:v", l.name)
	}
	args = append(args, "-refs", strconv.Itoa(refs), "-pix_fmt", "yuv420p", "-threads", strconv.Itoa(o.threads))
	// Closed captions of the source become a track of their own. In frames that were deinterlaced
	// or dropped they would be garbled, and playlists say that there are none.
	args = append(args, "-a53cc", "0")
	args = append(args, noAutoKeyframes...)
	var params []string
	if rate := o.rateInThousandths(); rate > 0 {
		params = append(params, fmt.Sprintf("fps=%d/1000", rate))
	}
	if o.effort.options != "" {
		params = append(params, o.effort.options)
	}
	if len(params) > 0 {
		args = append(args, "-x264-params", strings.Join(params, ":"))
	}
	return args
}

// x264References is how many frames each preset refers to.
var x264References = map[string]int{"superfast": 1, "veryfast": 1, "faster": 2, "fast": 2, "medium": 3, "slow": 5, "slower": 8}

// x265Args makes HEVC of the Main profile, with the box hvc1: Apple's players take no other.
func x265Args(o settings) []string {
	// All chunks share one configuration of the decoder, so nothing that differs between them may be written into it:
	// no record of the options, and the level follows from the highest cap. The pool has as many threads as x264 has.
	params := []string{"open-gop=0", "info=0", "high-tier=0", fmt.Sprintf("pools=%d", max(o.threads, 1))}
	if rate := o.rateInThousandths(); rate > 0 {
		params = append(params, fmt.Sprintf("fps=%d/1000", rate))
	}
	if l, ok := hevcLevelOf(o.width, o.height, o.fps, o.highest); ok {
		params = append(params, "level-idc="+l.name)
		o.buffer = min(o.buffer, l.buffer)
	}
	if o.effort.options != "" {
		params = append(params, o.effort.options)
	}
	profile, pixels := "main", "yuv420p"
	if o.hdr {
		profile, pixels = "main10", "yuv420p10le"
		params = append(params, o.x265Light()...)
	}
	args := []string{"-c:v", "libx265", "-tag:v", "hvc1", "-preset", o.effort.preset, "-crf", o.effort.rateFactor()}
	args = append(args, o.bitrateCap()...)
	args = append(args, "-profile:v", profile, "-pix_fmt", pixels, "-threads", strconv.Itoa(o.threads), "-forced-idr", "1", "-a53cc", "0")
	args = append(args, noAutoKeyframes...)
	return append(args, "-x265-params", strings.Join(params, ":"))
}

// svtArgs makes AV1. ffmpeg 5.1 cannot tell SVT-AV1 where to put keyframes, so
// they come after as many frames as two seconds have.
func svtArgs(o settings) []string {
	params := []string{"scd=0"}
	if rate := o.rateInThousandths(); rate > 0 {
		params = append(params, fmt.Sprintf("fps-num=%d:fps-denom=1000", rate))
	}
	if o.threads > 0 {
		params = append(params, fmt.Sprintf("lp=%d", o.threads))
	}
	if o.effort.options != "" {
		params = append(params, o.effort.options)
	}
	pixels := "yuv420p"
	if o.hdr {
		pixels = "yuv420p10le"
		params = append(params, o.svtLight()...)
	}
	// Its limiter takes bits away long before a limit is reached: of a film that needs 1.1 Mbit/s, it leaves
	// 0.7 with a limit of 1.5. So its limit comes from the picture's size, and never from the source's bitrate.
	o.kbps, o.buffer = o.highest, bufferSize(o.highest)
	args := []string{"-c:v", "libsvtav1", "-preset", o.effort.preset, "-crf", o.effort.rateFactor()}
	args = append(args, o.bitrateCap()...)
	args = append(args, "-pix_fmt", pixels, "-g", strconv.Itoa(o.gop))
	return append(args, "-svtav1-params", strings.Join(params, ":"))
}

// hardwareQuality is about where hardware looks like software with its CRF.
const hardwareQuality = "24"

func nvencArgs(o settings) []string {
	args := []string{"-c:v", "h264_nvenc", "-preset", "p5", "-rc", "vbr", "-cq", hardwareQuality, "-b:v", "0"}
	args = append(args, o.bitrateCap()...)
	return append(args, "-pix_fmt", "yuv420p", "-forced-idr", "1", "-no-scenecut", "1", "-g", "100000")
}

// quickSyncArgs give quality and two rates, which together select QVBR: constant quality with a cap.
func quickSyncArgs(o settings) []string {
	args := []string{"-c:v", "h264_qsv", "-preset", "medium", "-global_quality", hardwareQuality, "-b:v", o.average()}
	args = append(args, o.bitrateCap()...)
	return append(args, "-pix_fmt", "nv12", "-forced_idr", "1", "-g", "100000")
}

// vaapiArgs give a bitrate alone: not every driver has constant quality with a cap.
func vaapiArgs(o settings) []string {
	args := []string{"-c:v", "h264_vaapi", "-rc_mode", "VBR", "-b:v", o.average()}
	args = append(args, o.bitrateCap()...)
	return append(args, "-profile:v", "high", "-g", "1024")
}

// average is the target bitrate for encoders that need one.
func (o settings) average() string { return fmt.Sprintf("%dk", max(o.kbps*2/3, 1)) }
