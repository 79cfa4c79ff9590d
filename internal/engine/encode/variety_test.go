package encode

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
	"github.com/spool-video/spool/test/need"
)

// outcome is what a person would expect of a video of the collection.
type outcome struct {
	fail video.FailureCode // "" means that it becomes a video
	says string            // what the failure or the warning has to mention

	width, height int     // as displayed
	frames        int     // of the output
	seconds       float64 // of the video
	sound         int     // the stream that is heard; silent means none
	turned        int
	matrix        string            // of the output; "" means BT.709
	treat         string            // "hdr", or "fields" if frames may be interlaced
	warn          video.FailureCode // about a video that is ready
	like          string            // the least ssim to ffmpeg's own rendering; "" does not compare
}

const (
	silent = -1
	sd     = "smpte170m"
)

// variety is the whole collection.
var variety = map[string]outcome{
	// What can never be shown.
	"audio_only.mp4":                         {fail: video.NoVideoStream, says: "audio but no video"},
	"empty_zero_bytes.mp4":                   {fail: video.UploadEmpty, says: "empty"},
	"encrypted_cenc.mp4":                     {fail: video.Encrypted, says: "encrypted"},
	"hostile_hls_in_avi_local_file_read.avi": {fail: video.NoVideoStream, says: "no video"},
	"unsupported_vvc.mp4":                    {fail: video.UnsupportedCodec, says: "vvc1"},

	// Broken videos give what can be read.
	"broken_duplicate_audio_dts.ts": {width: 1280, height: 720, frames: 59, seconds: 2.0086, sound: 1, like: "0.9"},
	"broken_invalid_nalu.mp4":       {width: 1080, height: 720, frames: 29, seconds: 1.001, sound: silent, like: "0.9"},
	"broken_missing_dts.ts":         {width: 1920, height: 1080, frames: 120, seconds: 2.0007, sound: silent, like: "0.9"},
	"broken_no_initial_keyframe.ts": {width: 626, height: 352, frames: 15, seconds: 0.5128, sound: 1, matrix: sd, warn: video.Corrupt, says: "The first 2.1 s"},
	"broken_sps.flv":                {width: 192, height: 144, frames: 79, seconds: 6.1134, sound: silent, matrix: sd, like: "0.9"},
	"mkv_mpeg4_aac51.mkv":           {width: 1280, height: 720, frames: 147, seconds: 5.882, sound: 1, treat: "fields"}, // its clock starts anew half-way
	"truncated_mp4_100KB.mp4":       {width: 1920, height: 1080, frames: 6, seconds: 0.5, sound: silent, warn: video.Truncated, says: "cut off after 0.5 s", like: "0.9"},

	// Phones and cameras.
	"android_1080p_vfr.mp4":           {width: 1920, height: 1080, frames: 41, seconds: 1.6, sound: 1, like: "0.9"},
	"avi_canon_mjpeg.avi":             {width: 640, height: 480, frames: 78, seconds: 2.6, sound: 1, matrix: sd, treat: "fields", like: "0.9"},
	"flir_thermal_vfr.mp4":            {width: 1080, height: 1440, frames: 84, seconds: 11.2626, sound: 1, like: "0.9"},
	"gopro_karma_gpmf.mp4":            {width: 854, height: 480, frames: 362, seconds: 12.0787, sound: 1, like: "0.9"},
	"ipad_hevc_livephoto_rot90.mov":   {width: 720, height: 1280, turned: 90, frames: 35, seconds: 1.1683, sound: 1, like: "0.9"},
	"iphone12mini_dv84_hlg_rot90.mov": {width: 1080, height: 1920, turned: 90, frames: 100, seconds: 3.335, sound: 1, treat: "hdr"},
	"iphone6_portrait_rot90.mov":      {width: 320, height: 568, turned: 90, frames: 120, seconds: 4.0017, sound: 0, like: "0.9"},
	"motionphoto_2_hevc_tracks.mp4":   {width: 1080, height: 1440, turned: 270, frames: 53, seconds: 1.7822, sound: silent, like: "0.9"},
	"phone_4k60_portrait_short.mp4":   {width: 2160, height: 3840, turned: 90, frames: 18, seconds: 0.3127, sound: 1, matrix: sd, like: "0.9"},
	"phone_mpeg4_vfr.3gp":             {width: 480, height: 352, frames: 1179, seconds: 46.72, sound: 1, matrix: sd, treat: "fields"},
	"phone_portrait_rot90.mp4":        {width: 720, height: 1280, turned: 90, frames: 88, seconds: 3.8827, sound: 1, like: "0.9"},
	"ts_portrait_phone.ts":            {width: 720, height: 1280, frames: 30, seconds: 1.0003, sound: silent, like: "0.9"},

	// Colours.
	"chapters.mkv":             {width: 320, height: 240, frames: 150, seconds: 5.015, sound: 1, matrix: sd, like: "0.9"},
	"dovi_p10_av1.mp4":         {width: 640, height: 360, frames: 361, seconds: 6.0227, sound: silent, treat: "hdr"},
	"dovi_p5_hevc.mp4":         {width: 640, height: 360, frames: 361, seconds: 6.0227, sound: silent, treat: "hdr"},
	"ffv1_422_10bit_ntsc.mkv":  {width: 648, height: 486, frames: 43, seconds: 1.434, sound: 1, matrix: sd, like: "0.9"},
	"h264_444_mp3.mp4":         {width: 1280, height: 720, frames: 280, seconds: 14, sound: 1, like: "0.9"},
	"hdr10_av1_portrait.mp4":   {width: 720, height: 1280, frames: 127, seconds: 4.2376, sound: 1, treat: "hdr"},
	"prores422_sd.mov":         {width: 768, height: 576, frames: 2, seconds: 0.08, sound: 1, matrix: sd, treat: "fields", like: "0.9"},
	"vp8_alpha_320x213.webm":   {width: 320, height: 213, frames: 120, seconds: 3.998, sound: silent, matrix: sd, like: "0.9"},
	"vp9_profile2_10bit.webm":  {width: 426, height: 240, frames: 72, seconds: 3.002, sound: silent},
	"mpeg2_tff_captions.ts":    {width: 640, height: 480, frames: 202, seconds: 6.8068, sound: silent, matrix: sd, treat: "fields"},
	"screenrec_tscc.avi":       {width: 548, height: 400, frames: 348, seconds: 56.6, sound: 1}, // packets that say "no change" are no frames
	"screenrec_pampi_tour.mp4": {width: 960, height: 540, frames: 270, seconds: 11.25, sound: silent, matrix: sd, like: "0.9"},

	// Containers, tracks and times.
	"attached_pic_tmcd.mov":        {width: 800, height: 600, frames: 1440, seconds: 24, sound: silent, matrix: "", like: "0.9"},
	"av1_tos_1920x800.webm":        {width: 1920, height: 800, frames: 400, seconds: 16.666, sound: silent, like: "0.9"},
	"bbb_1080p60_aac51.mp4":        {width: 1920, height: 1080, frames: 120, seconds: 2, sound: 1, like: "0.9"},
	"editlist_preroll.mp4":         {width: 640, height: 360, frames: 16, seconds: 0.533, sound: 1},
	"flv_h264_aac.flv":             {width: 1080, height: 720, frames: 30, seconds: 1.09, sound: 1, like: "0.9"},
	"fmp4_flower.mp4":              {width: 960, height: 540, frames: 150, seconds: 5.056, sound: 1, matrix: sd, like: "0.9"},
	"mkv_h264_dts51_vobsub.mkv":    {width: 720, height: 480, frames: 207, seconds: 6.973, sound: 1, matrix: sd, like: "0.9"},
	"mov_pcm_sowt.mov":             {width: 1920, height: 1080, frames: 100, seconds: 2, sound: 1, like: "0.9"},
	"mpegps_phone.mpg":             {width: 480, height: 352, frames: 1399, seconds: 46.656, sound: 1, matrix: sd},
	"multi_av_subs_nasa.mp4":       {width: 480, height: 270, frames: 390, seconds: 13.056, sound: 1},
	"negative_dts.mp4":             {width: 1920, height: 1080, frames: 10, seconds: 0.5417, sound: silent, like: "0.9"},
	"noaudio_run.mp4":              {width: 720, height: 400, frames: 150, seconds: 5.005, sound: silent, matrix: sd, like: "0.9"},
	"rawes_resolution_change.h264": {width: 700, height: 400, frames: 40, seconds: 1.6667, sound: silent, matrix: sd},
	"sar_720x576_16_15.mp4":        {width: 768, height: 576, frames: 255, seconds: 10.2, sound: 1, matrix: sd, like: "0.9"},
	"theora_1906_grand_prix.ogv":   {width: 214, height: 160, frames: 288, seconds: 19.2, sound: silent, matrix: sd, like: "0.9"},
	"tiny_10x8_long.mp4":           {width: 15, height: 8, frames: 3115, seconds: 124.634, sound: 1, matrix: sd},
	"vp8_vorbis_flower.webm":       {width: 960, height: 540, frames: 150, seconds: 5.075, sound: 1, matrix: sd, like: "0.9"},
	"vp9_odd_161x121.webm":         {width: 161, height: 121, frames: 30, seconds: 1.001, sound: silent, matrix: sd, like: "0.9"},
	"vp9_opus_pandas.webm":         {width: 1280, height: 720, frames: 300, seconds: 10.014, sound: 1, like: "0.9"},
	"wmv_asf.wmv":                  {width: 640, height: 480, frames: 25, seconds: 5, sound: 0, matrix: sd, like: "0.9"},
}

// quick are the videos that tell most for their length.
var quick = []string{
	"audio_only.mp4", "broken_invalid_nalu.mp4", "broken_no_initial_keyframe.ts", "broken_sps.flv", "chapters.mkv", "editlist_preroll.mp4",
	"encrypted_cenc.mp4", "hostile_hls_in_avi_local_file_read.avi", "iphone6_portrait_rot90.mov", "mkv_mpeg4_aac51.mkv", "motionphoto_2_hevc_tracks.mp4",
	"prores422_sd.mov", "rawes_resolution_change.h264", "truncated_mp4_100KB.mp4", "unsupported_vvc.mp4", "vp9_odd_161x121.webm",
}

// TestVariety takes real videos through all steps: a telling few, or all of them
// when there is time or SPOOL_TEST_ALL_FOOTAGE is set.
func TestVariety(t *testing.T) {
	t.Parallel()
	dir := footage.Path(t, "variety")
	tools := newEngine(t)
	names := quick
	if os.Getenv("SPOOL_TEST_ALL_FOOTAGE") != "" || need.Long() {
		names = everyVideo(t, dir)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, ok := variety[name]
			if !ok {
				t.Fatal("nobody has written down what to expect of this video")
			}
			job := enginetest.NewJob(t, filepath.Join(dir, name))
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"240p", "144p"}, Thumbnails: []float64{0, 1e9}})
			if want.fail != "" {
				if f, ok := errors.AsType[*video.Failure](err); !ok || f.Code != want.fail || !strings.Contains(f.Message, want.says) {
					t.Fatalf("Inspect = %v; want failure %s that mentions %q", err, want.fail, want.says)
				}
				return
			}
			if err != nil {
				t.Fatalf("Inspect: %v", err)
			}
			want.checkPlan(t, plan)
			want.checkVideo(t, tools, job, plan)
			want.checkAudio(t, tools, job, plan)
			checkThumbnails(t, tools, job, plan)
		})
	}
}

// everyVideo lists the collection.
func everyVideo(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".tsv" { // the list that describes them
			names = append(names, e.Name())
		}
	}
	return names
}

func (o outcome) checkPlan(t *testing.T, p *video.Plan) {
	t.Helper()
	if in := p.Input; in.Width != o.width || in.Height != o.height || in.Rotation != o.turned {
		t.Errorf("displayed as %d × %d, turned by %d; want %d × %d, %d", in.Width, in.Height, in.Rotation, o.width, o.height, o.turned)
	}
	if got := p.Duration.Seconds(); math.Abs(got-o.seconds) > 0.001 {
		t.Errorf("lasts %.4f s; want %.4f", got, o.seconds)
	}
	if p.ToneMap != (o.treat == "hdr") || p.Deinterlace != (o.treat == "fields") {
		t.Errorf("HDR: %v, interlaced: %v; want %q", p.ToneMap, p.Deinterlace, o.treat)
	}
	heard := silent
	if p.Audio != nil {
		heard = p.Audio.Stream
	}
	if heard != o.sound {
		t.Errorf("stream %d is heard; want %d", heard, o.sound)
	}
}

// checkVideo encodes the frames and looks at them.
func (o outcome) checkVideo(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan) {
	t.Helper()
	var frames []int
	var film encoded
	for n := range p.Chunks {
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatalf("EncodeChunk(%d): %v", n, err)
		}
		frames = append(frames, outputs[0].Frames)
		film.add(t, outputs[0].Path)
	}
	if len(film.times) != o.frames || film.times[0] > 0.1 || !slices.IsSorted(film.times) {
		t.Errorf("%d frames from %.3f s on; want %d from about 0, in order", len(film.times), film.times[0], o.frames)
	}
	if last := film.times[len(film.times)-1]; last > o.seconds || last < 0.8*o.seconds-0.3 {
		t.Errorf("the last frame is shown at %.3f s; want it near the end at %.3f", last, o.seconds)
	}
	matrix := o.matrix
	if matrix == "" {
		matrix = "bt709"
	}
	s := film.first.Streams[0]
	if s.PixelFormat != "yuv420p" || s.Aspect != "1:1" || s.Range != "tv" || s.Matrix != matrix || s.FieldOrder != "progressive" || strings.Contains(fmt.Sprint(s.SideData), "Display Matrix") {
		t.Errorf("output is %+v; want square pixels, limited range, %s, progressive, no rotation", s, matrix)
	}
	o.checkWarnings(t, p.Verdict(frames, true))
	if o.like != "" {
		checkLikeness(t, film, chunkFilePath(job, 0), job.Source, o.like)
	}
}

func (o outcome) checkWarnings(t *testing.T, got []video.Warning) {
	t.Helper()
	switch {
	case o.warn == "" && len(got) == 0:
	case o.warn != "" && len(got) == 1 && got[0].Code == o.warn && strings.Contains(got[0].Message, o.says):
	default:
		t.Errorf("warnings are %+v; want %q that mentions %q", got, o.warn, o.says)
	}
}

func (o outcome) checkAudio(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan) {
	t.Helper()
	if p.Audio == nil {
		return
	}
	out, err := tools.EncodeAudio(t.Context(), job, inOnePiece(p), 0, nil)
	if err != nil {
		t.Fatalf("EncodeAudio: %v", err)
	}
	if out.Lost >= video.MinLostAudio {
		t.Errorf("%v of the audio could not be decoded; want that nobody is told of it", out.Lost)
	}
	s := probeFile(t, out.Path, "a:0").Streams[0]
	length, err := strconv.ParseFloat(s.Duration, 64)
	if s.Codec != "aac" || s.Profile != "LC" || s.Channels != 2 || s.SampleRate != "48000" || s.Start != "0.000000" || err != nil || length > o.seconds+0.05 {
		t.Errorf("audio is %+v; want AAC-LC stereo 48 kHz from 0 to %.3f at most", s, o.seconds)
	}
}
