package ffmpeg

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// MaxPixels is the largest frame that is decoded: 8192 × 4500.
const MaxPixels = 36_864_000

// MaxThreads is how many threads a run may have that opens so many encoders. With nine encoders of four
// threads on two cores, x264 was seen to have 50 in all and x265 77, and may have
// 448; SVT-AV1 had 743, and may have four times as many.
func MaxThreads(encoders int) int {
	const base, perCodec, perThread = 128, 16, 4
	return base + (encoders+1)*(perCodec+perThread*runtime.NumCPU())
}

// allowedFormats are the demuxers that may run. Playlists are not among them: a
// playlist that poses as a video would make ffmpeg read other files.
const allowedFormats = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,dv,flv,live_flv,asf,ogg,mxf"

// soundFormats are the demuxers of files with sound alone. They may run for a file that begins like one.
const soundFormats = "mp3,aac,flac,wav,w64,aiff,caf,amr,ac3,eac3"

// AllowedDecoders are the decoders that may run, for the codecs that people really
// upload. Rare decoders are where the memory bugs are (MagicYUV, CVE-2026-8461).
// Subtitle decoders are among them also because ffprobe fails on a file when it may
// not open them.
var AllowedDecoders = strings.Join([]string{
	// Video of cameras, phones and the web.
	"h264,hevc,vp8,vp9,av1,libdav1d,libaom-av1,mpeg4,mpeg1video,mpeg2video,mpegvideo,theora,vp3,vp6,vp6a,vp6f,flv",
	"h261,h263,h263i,h263p,msmpeg4v1,msmpeg4v2,msmpeg4,wmv1,wmv2,wmv3,vc1,mjpeg,mjpegb,png",
	// Editing, archives and screen recorders.
	"prores,dnxhd,cfhd,dvvideo,ffv1,huffyuv,ffvhuff,utvideo,v210,v410,rawvideo,jpeg2000,qtrle,svq1,svq3,cinepak,camtasia,tscc2,zmbv,msrle,msvideo1",
	"aac,aac_latm,mp1,mp1float,mp2,mp2float,mp3,mp3float,ac3,eac3,dca,truehd,mlp,opus,libopus,vorbis,libvorbis,flac,alac,speex,libspeex",
	"wmav1,wmav2,wmapro,wmalossless,wmavoice,amrnb,amrwb,gsm,gsm_ms,nellymoser,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,adpcm_swf,adpcm_yamaha,g722,qdm2,mace3,mace6,s302m",
	"pcm_s16le,pcm_s16be,pcm_s16le_planar,pcm_s16be_planar,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_u8,pcm_s8,pcm_alaw,pcm_mulaw,pcm_dvd,pcm_bluray",
	"ass,ssa,subrip,srt,mov_text,webvtt,dvdsub,dvbsub,pgssub,xsub,cc_dec,text,libzvbi_teletextdec",
}, ",")

// InputArgs are the options that make it safe to open an untrusted file; the
// file itself follows them.
func InputArgs() []string { return inputArgs(allowedFormats) }

// SoundInputArgs are InputArgs for a file that begins as one with sound alone.
func SoundInputArgs() []string { return inputArgs(allowedFormats + "," + soundFormats) }

func inputArgs(formats string) []string {
	return []string{
		"-protocol_whitelist", "file",
		"-format_whitelist", formats,
		"-codec_whitelist", AllowedDecoders,
		"-max_pixels", strconv.Itoa(MaxPixels),
		"-max_streams", "200",
		"-probesize", "10M", "-analyzeduration", "10M",
	}
}

// RenditionInput are the options for opening a rendition file. We made it, but
// from an untrusted source: it is opened as what we make, and as nothing else.
var RenditionInput = []string{
	"-protocol_whitelist", "file", "-format_whitelist", "mov,mp4,m4a,3gp,3g2,mj2",
	"-codec_whitelist", "h264,hevc,av1,libdav1d,libaom-av1,aac", "-threads", "1",
}

// PictureInput are the options for opening a still: a PNG that we made from an untrusted source.
var PictureInput = []string{"-protocol_whitelist", "file", "-format_whitelist", "png_pipe", "-codec_whitelist", "png", "-max_pixels", strconv.Itoa(MaxPixels), "-threads", "1", "-f", "png_pipe"}

// SourceOptions are the options of InputArgs for opening a file, written for a filter
// that opens it itself: key=value, with colons between them.
func SourceOptions() string {
	return "protocol_whitelist=file:format_whitelist=" + allowedFormats + ":codec_whitelist=" + AllowedDecoders + ":max_streams=200"
}

// InputArgs are the options that make it safe to open the source of a job.
func (j Job) InputArgs() []string {
	if j.Sound {
		return SoundInputArgs()
	}
	return InputArgs()
}

// FileURL names a local file such that no character of its path is taken for a
// protocol.
func FileURL(path string) string { return "file:" + path }

// RunArgs are the options of every run of ffmpeg: it asks nothing, tells its progress and its errors, and
// takes no more memory at once than a large frame needs.
func RunArgs() []string {
	return []string{"-nostdin", "-hide_banner", "-nostats", "-v", "error", "-y", "-progress", "pipe:1", "-max_alloc", "536870912"}
}

// CommonArgs are the options of every ffmpeg run up to and including its input.
// A seek aims half a millisecond behind the keyframe, so that rounding cannot
// land on the one before; trim in the filter graph drops frames that come too
// early.
func CommonArgs(job Job, in video.Input, seek int64, threads int) []string {
	return append(graphArgs(), SourceArgs(job, in, seek, threads)...)
}

// graphArgs are the options of every run with a filter graph up to its first input.
func graphArgs() []string {
	return append(RunArgs(),
		"-max_error_rate", "1", // we check what was decoded, not what was not
		"-filter_complex_threads", "1",
		"-copyts", // the plan is in the source's times, so they stay as they are
	)
}

// FrameArgs are CommonArgs of a run that makes pictures. Of a still, the job's source is the picture alone.
func FrameArgs(job Job, in video.Input, seek int64, threads int) []string {
	if in.Still == "" {
		return CommonArgs(job, in, seek, threads)
	}
	return slices.Concat(graphArgs(), PictureInput, []string{"-i", FileURL(job.Source)})
}

// SourceArgs are the options of one more input that is the source, too.
func SourceArgs(job Job, in video.Input, seek int64, threads int) []string {
	input := job.InputArgs()
	if in.Still != "" {
		input = inputArgs(in.Container) // it is known, and may be one of files with sound alone
	}
	args := append(input, "-threads", strconv.Itoa(threads))
	if in.RawClock {
		args = append(args, RawClock...)
	}
	if in.EditStarts {
		args = append(args, EditStarts...)
	}
	if seek != video.NoSeek && in.X264 > 0 {
		args = append(args, "-x264_build", strconv.Itoa(in.X264)) // only the first frame says it
	}
	if seek != video.NoSeek {
		args = append(args, "-seek_timestamp", "1", "-noaccurate_seek", "-ss", fmt.Sprintf("%.6f", in.TimeBase.Seconds(seek)+0.0005))
	}
	return append(args, "-i", FileURL(job.Source))
}

// RawClock are the options of an input whose times are taken as they are, without making up for overflows.
var RawClock = []string{"-correct_ts_overflow", "0"}

// EditStarts are the options of an MP4 of whose edit list only the starts count, and not the lengths.
var EditStarts = []string{"-advanced_editlist", "0"}

// NoMetadata keeps everything out of an output that was not asked for: names,
// places and times that cameras record, chapters, subtitles, data.
var NoMetadata = []string{"-map_metadata", "-1", "-map_chapters", "-1", "-sn", "-dn"}
