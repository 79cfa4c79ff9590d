package encode

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

var studyTunes = flag.Bool("tune", false, "the study takes the clips that settings are chosen by, at several CRF, instead of the ones that it reports on")

// tuningClips are the ones that the tables of rates.go were chosen by. No figure of the study may come from them.
var tuningClips = []studyClip{
	{"bench/anim_bbb_1080p24_30s.mp4", 12}, {"bench/camera_dog_1080p50_15s.mp4", 5}, {"bench/drone_traffic_1080p24_12s.mp4", 5},
	{"bench/film_tos_1920x800_vp9_17s.webm", 5}, {"bench/phone_4k_portrait_hevc_9s.mp4", 3}, {"bench/phone_android_1080p_vfr_8s.mp4", 3},
	{"bench/screenrec_1696x1080p60_13s.mp4", 5},
}

// reportedClips are the ones that the study reports on. Nothing was chosen by them.
var reportedClips = []studyClip{
	{"variety/phone_portrait_rot90.mp4", 0}, {"variety/vp9_opus_pandas.webm", 4}, {"variety/mov_pcm_sowt.mov", 0},
	{"variety/screenrec_pampi_tour.mp4", 4}, {"variety/fmp4_flower.mp4", 0}, {"variety/gopro_karma_gpmf.mp4", 4}, {"variety/noaudio_run.mp4", 0},
	{"variety/android_1080p_vfr.mp4", 0}, {"variety/broken_duplicate_audio_dts.ts", 0},
	{"variety/sar_720x576_16_15.mp4", 4}, {"variety/mkv_h264_dts51_vobsub.mkv", 2},
	{"variety/motionphoto_2_hevc_tracks.mp4", 0},
}

// studyClip is a file below the folder of the footage, and where the part begins that is taken.
type studyClip struct {
	file string
	from int // in seconds
}

func (c studyClip) name() string {
	return strings.TrimSuffix(filepath.Base(c.file), filepath.Ext(c.file))
}

// studyNames are the sizes of the study.
var studyNames = []video.Name{"1080p", "480p"}

// studyWays are the encodes that the study compares. The first is common practice.
var studyWays = []studyWay{
	{name: "x264 veryfast", encoder: "libx264", alone: effort{preset: "veryfast", crf: 23}, more: []float64{-5, 5}},
	{name: "H.264", encoder: "libx264", quality: video.Balanced, tuned: []float64{-4, 4}},
	{name: "AV1, fast", encoder: "libsvtav1", quality: video.Fast},
	{name: "AV1, balanced", encoder: "libsvtav1", quality: video.Balanced, tuned: []float64{-8, 8}},
	{name: "AV1, small", encoder: "libsvtav1", quality: video.Small},
}

// studyWay is a way to encode.
type studyWay struct {
	name    string
	encoder string
	alone   effort        // without anything of Spool's,
	quality video.Quality // or an effort of Spool's for this quality
	// more and tuned are by how much other CRF differ that are tried: always, and of the clips that settings are chosen by.
	more, tuned []float64
}

// BenchmarkStudy compares Spool's encoders with x264 veryfast at CRF 23 and ffmpeg's own distance of keyframes, which
// is common practice. All encode the same frames, which went through Spool's filters, without a cap by the
// source. VMAF compares with these frames.
func BenchmarkStudy(b *testing.B) {
	s := &study{vmaf: vmafProgram(b)}
	tools := newEngine(b)
	tools.Encoder.threads = runtime.GOMAXPROCS(0)
	clips := reportedClips
	if *studyTunes {
		clips = tuningClips
	}
	for _, c := range clips {
		b.Run(c.name(), func(b *testing.B) {
			source := footage.Path(b, c.file)
			for b.Loop() {
				s.add(newBench(b, tools, source, c.from, studyNames), c.name())
			}
			if *benchReport == "" || *studyTunes {
				return
			}
			if err := s.write(*benchReport, tools.run.Version()); err != nil { // what was measured so far: all of it takes long
				b.Fatal(err)
			}
		})
	}
}

// study collects what was measured.
type study struct {
	vmaf  string // the program
	films []studyFilm
}

// studyFilm is a clip at one size.
type studyFilm struct {
	clip    string
	size    int // index in studyNames
	seconds float64
	ways    []studyResult // as studyWays
}

// studyResult is what one way made of a clip: first with its own CRF, then with others.
type studyResult struct {
	curve curve
	cpu   float64 // seconds, of the first
}

func (s *study) add(e *bench, name string) {
	for i, r := range e.plan.Renditions {
		film := studyFilm{clip: name, size: slices.Index(studyNames, r.Names[len(r.Names)-1]), seconds: e.plan.Duration.Seconds()}
		for _, w := range studyWays {
			film.ways = append(film.ways, s.measure(e, i, w))
		}
		s.films = append(s.films, film)
	}
}

// measure encodes a rendition with each CRF of a way.
func (s *study) measure(e *bench, rendition int, w studyWay) (all studyResult) {
	offsets := append([]float64{0}, w.more...)
	if *studyTunes {
		offsets = append([]float64{0}, w.tuned...)
	}
	for n, by := range offsets {
		path := filepath.Join(e.job.OutDir, "study.mp4")
		spent := e.took(func() { e.ffmpeg(slices.Concat(e.raw(rendition), w.args(e.plan, rendition, by), []string{path})...) })
		info, err := os.Stat(path)
		e.check(err)
		p := point{float64(info.Size()), s.score(e, rendition, path)}
		all.curve = append(all.curve, p)
		if n == 0 {
			all.cpu = spent.cpu.Seconds()
		}
		e.Logf("%s of rendition %d, CRF %+g: %.0f bytes, VMAF %.2f, %.2f s", w.name, rendition, by, p.bytes, p.score, spent.cpu.Seconds())
	}
	return all
}

// args are the options of a way. The cap by the source is left out, so that quality is constant.
func (w studyWay) args(p *video.Plan, rendition int, by float64) []string {
	encoder := encoders[slices.IndexFunc(encoders, func(e codecEncoder) bool { return e.name == w.encoder })]
	if w.quality == "" {
		return []string{"-c:v", w.encoder, "-preset", w.alone.preset, "-crf", strconv.FormatFloat(w.alone.crf+by, 'f', -1, 64)}
	}
	q := *p
	q.Codec, q.Quality, q.Chunks = encoder.codec, w.quality, []video.Chunk{{Start: p.FirstPTS, End: video.Forever}}
	with := settingsFor(&q, p.Renditions[rendition], 0, runtime.GOMAXPROCS(0))
	with.effort.crf += by
	args := encoder.args(with)
	if !encoder.fixedGOP {
		args = append(args, "-force_key_frames", keyGrid(&q, 0))
	}
	return args
}
