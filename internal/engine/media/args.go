package media

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// allowedFormats are the demuxers that may run. Playlists are not among them:
// a playlist that calls itself a film would make ffmpeg read other files.
const allowedFormats = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,flv,live_flv,asf,ogg,mxf"

// allowedDecoders are the decoders that may run: what people really upload.
// Rare decoders are where the memory bugs are (MagicYUV, CVE-2026-8461).
// Subtitles are never decoded, but ffprobe fails on them when it may not.
var allowedDecoders = strings.Join([]string{
	// Pictures of cameras, phones and the web.
	"h264,hevc,vp8,vp9,av1,libdav1d,libaom-av1,mpeg4,mpeg1video,mpeg2video,mpegvideo,theora,vp3,vp6,vp6a,vp6f,flv",
	"h261,h263,h263i,h263p,msmpeg4v1,msmpeg4v2,msmpeg4,wmv1,wmv2,wmv3,vc1,mjpeg,mjpegb,png",
	// Editing, archives and screen recorders.
	"prores,dnxhd,cfhd,dvvideo,ffv1,huffyuv,ffvhuff,utvideo,v210,v410,rawvideo,jpeg2000,qtrle,svq1,svq3,cinepak,camtasia,tscc2,zmbv,msrle,msvideo1",
	"aac,aac_latm,mp1,mp1float,mp2,mp2float,mp3,mp3float,ac3,eac3,dca,truehd,mlp,opus,libopus,vorbis,libvorbis,flac,alac,speex,libspeex",
	"wmav1,wmav2,wmapro,wmalossless,wmavoice,amrnb,amrwb,gsm,gsm_ms,nellymoser,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,adpcm_swf,adpcm_yamaha,g722,qdm2,mace3,mace6,s302m",
	"pcm_s16le,pcm_s16be,pcm_s16le_planar,pcm_s16be_planar,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_u8,pcm_s8,pcm_alaw,pcm_mulaw,pcm_dvd,pcm_bluray",
	"ass,ssa,subrip,srt,mov_text,webvtt,dvdsub,dvbsub,pgssub,xsub,cc_dec,text,libzvbi_teletextdec",
}, ",")

// input are the options that make it safe to open an untrusted file; the file
// itself follows them.
func input() []string {
	return []string{
		"-protocol_whitelist", "file",
		"-format_whitelist", allowedFormats,
		"-codec_whitelist", allowedDecoders,
		"-max_pixels", strconv.Itoa(maxPixels),
		"-max_streams", "200",
		"-probesize", "10M", "-analyzeduration", "10M",
	}
}

func local(path string) string { return "file:" + path }

// probeArgs asks for streams and packets. Decoders named in tolerate may be
// opened besides the allowed ones, because ffprobe gives up a file in which it
// cannot open all; but they are never given anything to decode.
func probeArgs(source string, tolerate []string) []string {
	args := append([]string{"-v", "error", "-hide_banner", "-max_alloc", "268435456"}, input()...)
	if len(tolerate) > 0 {
		for _, kind := range []string{"v", "a", "s"} {
			args = append(args, "-codec_whitelist:"+kind, allowedDecoders+","+strings.Join(tolerate, ","))
		}
	}
	return append(args,
		"-show_entries", strings.Join([]string{
			"packet=codec_type,stream_index,pts,dts,duration,size,pos,flags", "packet_side_data=side_data_type",
			"stream=index,codec_type,codec_name,codec_tag_string,width,height,pix_fmt,sample_aspect_ratio,field_order," +
				"color_range,color_space,color_transfer,color_primaries,avg_frame_rate,time_base,bit_rate,channels,nb_frames",
			"stream_disposition=default,attached_pic",
			"stream_side_data=side_data_type,rotation,dv_profile,dv_bl_signal_compatibility_id",
			"format=format_name,start_time,duration",
		}, ":"),
		"-of", "json=compact=1", "-i", local(source))
}

// common are the options of every ffmpeg run up to and with its input. A seek
// aims half a millisecond behind the keyframe, lest rounding lands on the one
// before; trim in the graph drops what comes too early.
func common(job Job, tb video.Ratio, seek int64, threads int) []string {
	args := slices.Concat([]string{
		"-nostdin", "-hide_banner", "-nostats", "-v", "error", "-y", "-progress", "pipe:1",
		"-max_alloc", "536870912",
		"-max_error_rate", "1", // what could be decoded is checked, not what could not
		"-filter_complex_threads", "1",
		"-copyts", // times stay those of the source: the plan speaks in them
	}, input(), []string{"-threads", strconv.Itoa(threads)})
	if seek != video.NoSeek {
		args = append(args, "-seek_timestamp", "1", "-noaccurate_seek", "-ss", fmt.Sprintf("%.6f", tb.Seconds(seek)+0.0005))
	}
	return append(args, "-i", local(job.Source))
}

// onlyThis keeps everything out of an output that was not asked for: names,
// places and times that cameras record, chapters, subtitles, data.
var onlyThis = []string{"-map_metadata", "-1", "-map_chapters", "-1", "-sn", "-dn"}

// piecePath is where EncodeChunk puts a rendition.
func piecePath(job Job, rendition int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("v%d.mp4", rendition))
}

// fromZero lets a film begin at time zero whose container does not say when its
// frames are shown. It works on what has been encoded: a filter would begin anew,
// and the film with it, where the pictures of the source change their size.
const fromZero = "setts=pts=PTS-STARTPTS:dts=DTS-STARTPTS"

// chunkArgs encodes chunk n at every rendition. A piece is an ordinary MP4
// whose edit list says when it begins on the film's time line.
func chunkArgs(job Job, p *video.Plan, n int, with encoder, threads int) []string {
	filters := graph(p, chunkFilters(p, n), toVideo)
	output := "[v%d]"
	if with.upload != "" {
		output = "[d%d]" // on the device
		for i := range p.Renditions {
			filters += fmt.Sprintf(";[v%[1]d]%[2]s[d%[1]d]", i, with.upload)
		}
	}
	args := slices.Concat(with.setup, common(job, p.Input.TimeBase, p.Chunks[n].Seek, threads), []string{"-filter_complex", filters})
	scale := strconv.Itoa(p.Timescale)
	for i, r := range p.Renditions {
		args = append(args, "-map", fmt.Sprintf(output, i))
		args = append(args, with.pieceArgs(p, r, n, threads)...)
		args = append(args, "-fps_mode", "passthrough", "-enc_time_base", "1:"+scale)
		if !timed(p.Input) {
			args = append(args, "-bsf:v", fromZero)
		}
		args = append(args, onlyThis...)
		args = append(args, "-avoid_negative_ts", "disabled",
			"-movie_timescale", scale, "-video_track_timescale", scale,
			"-f", "mp4", local(piecePath(job, i)))
	}
	return args
}

// keyGrid forces a keyframe at the first frame of every two seconds of the
// film. In the expression t counts from the first frame of the chunk.
func keyGrid(p *video.Plan, n int) string {
	start := p.Input.TimeBase.Seconds(p.Chunks[n].Start - p.FirstPTS)
	return fmt.Sprintf("expr:isnan(prev_forced_t)+gt(floor((t+%[1]f)/2+1e-5),floor((prev_forced_t+%[1]f)/2+1e-5))", start)
}
