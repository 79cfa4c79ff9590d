package encode

import (
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

// Sounds of tests, for the source aevalsrc. Speech has syllables, words, and the spectrum of a voice.
const (
	tone   = "0.03*sin(440*2*PI*t)"
	voice  = "(sin(2*PI*140*t)+0.6*sin(2*PI*560*t)+0.3*sin(2*PI*1900*t)+0.1*(random(0)*2-1))*pow(max(0,sin(2*PI*2.3*t)),2)*gt(sin(2*PI*0.31*t),-0.6)"
	clicks = "if(lt(mod(t,0.5),0.002),0.7*(random(0)*2-1),0.02*(random(1)*2-1))"
)

// r128 is what a run of ffmpeg of its own says about the first sound of a file: LUFS and dBTP.
func r128(t *testing.T, path string) (integrated, peak float64) {
	t.Helper()
	out, err := exec.Command("ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-i", path, "-map", "0:a:0", "-af", "ebur128=peak=true", "-f", "null", "-").CombinedOutput()
	found := regexp.MustCompile(`(?s)Summary:.*I:\s+(\S+) LUFS.*Peak:\s+(\S+) dBFS`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("ffmpeg measures nothing: %v\n%s", err, out)
	}
	integrated, _ = strconv.ParseFloat(string(found[1]), 64)
	peak, _ = strconv.ParseFloat(string(found[2]), 64)
	return integrated, peak
}

// normalized plans a file with sound that is to be as loud as others.
func normalized(t *testing.T, tools *engine, source string) *video.Plan {
	t.Helper()
	p, err := tools.Inspect(t.Context(), enginetest.NewJob(t, source), plan.Request{Names: []video.Name{"144p"}, Normalize: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.LoudnessTarget != video.DefaultLoudness {
		t.Fatalf("the target is %g", p.LoudnessTarget)
	}
	return p
}

// wantLevelled measures a sound track, makes it as loud as its plan says, and looks at what came out.
func wantLevelled(t *testing.T, tools *engine, source string, p *video.Plan) (*video.Loudness, string) {
	t.Helper()
	job := enginetest.NewJob(t, source)
	l, err := tools.Level(t.Context(), job, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tools.EncodeAudio(t.Context(), job, p.Levelled(l), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.Loudness != nil {
		t.Error("it was measured twice")
	}
	integrated, peak := r128(t, out.Path)
	if l.Integrated != nil && l.Limit == nil && math.Abs(integrated-p.LoudnessTarget) > 0.5 {
		t.Errorf("it has %g LUFS; want %g", integrated, p.LoudnessTarget)
	}
	if peak > video.MaxTruePeak {
		t.Errorf("its true peak is %g dBTP; want at most %g", peak, video.MaxTruePeak)
	}
	return l, out.Path
}

func soundClip(t *testing.T, sound string, seconds float64) string {
	t.Helper()
	length := strconv.FormatFloat(seconds, 'f', -1, 64)
	return enginetest.Clip(t, "a.mkv", "testsrc2=s=160x90:r=10:d="+length, "-f", "lavfi", "-i", "aevalsrc='"+sound+"|"+sound+"':s=48000:d="+length,
		"-map", "0:v", "-map", "2:a", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "pcm_f32le")
}

func TestEverySoundBecomesEquallyLoud(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, tt := range []struct {
		name, sound string
		limited     bool
	}{
		{"a quiet tone", tone, false},
		{"a tone that is louder than can be played", "1.4*sin(440*2*PI*t)", false},
		{"a voice", "0.1*(" + voice + ")", false},
		{"a voice that is hardly heard", "0.004*(" + voice + ")", false},
		{"a quiet voice between clicks", clicks, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := soundClip(t, tt.sound, 8)
			l, _ := wantLevelled(t, tools, source, normalized(t, tools, source))
			before, peak := r128(t, source)
			if l.Integrated == nil || math.Abs(*l.Integrated-before) > 0.1 || math.Abs(*l.TruePeak-peak) > 0.1 || l.Range == nil {
				t.Errorf("measured as %g LUFS and %g dBTP; want %g and %g", *l.Integrated, *l.TruePeak, before, peak)
			}
			if got := video.DefaultLoudness - *l.Integrated; math.Abs(got-l.Gain) > 0.01 {
				t.Errorf("the gain is %g; want %g", l.Gain, got)
			}
			if (l.Limit != nil) != tt.limited {
				t.Errorf("the limit is %v; want one: %t", l.Limit, tt.limited)
			}
		})
	}
}

// TestAShortSoundHasNoRange has as much as ffmpeg needs for a number, but not for a true one.
func TestAShortSoundHasNoRange(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := soundClip(t, tone, 3.2)
	if l, _ := wantLevelled(t, tools, source, normalized(t, tools, source)); l.Integrated == nil || l.Range != nil {
		t.Errorf("measured as %+v", l)
	}
}

// TestSilenceStaysSilence has nothing to measure, or too little.
func TestSilenceStaysSilence(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, tt := range []struct {
		name, sound string
		seconds     float64
		peak        bool
	}{
		{"silence", "0", 2, false},
		{"a tone below the gate", "0.00001*sin(440*2*PI*t)", 2, true},
		{"a tone of less than 400 ms", tone, 0.3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := soundClip(t, tt.sound, tt.seconds)
			l, _ := wantLevelled(t, tools, source, normalized(t, tools, source))
			if l.Integrated != nil || l.Range != nil || l.Gain != 0 || l.Limit != nil || (l.TruePeak != nil) != tt.peak {
				t.Errorf("measured as %+v", l)
			}
		})
	}
}

// TestWhatIsKeptIsMeasuredOnTheWay has no second run read the file.
func TestWhatIsKeptIsMeasuredOnTheWay(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := soundClip(t, "0.1*("+voice+")*lt(t,6)", 8)
	p := normalized(t, tools, source)
	l, err := tools.Level(t.Context(), enginetest.NewJob(t, source), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.LoudnessTarget = 0
	runs := 0
	job := enginetest.NewJob(t, source)
	job.Ran = func(video.Execution) { runs++ }
	out, err := tools.EncodeAudio(t.Context(), job, p, 0, nil)
	if err != nil || runs != 1 {
		t.Fatalf("%d runs: %v", runs, err)
	}
	if got := out.Loudness; got == nil || *got.Integrated != *l.Integrated || *got.TruePeak != *l.TruePeak || *got.Range != *l.Range || got.Gain != 0 {
		t.Errorf("measured as %+v; want %+v without a gain", got, l)
	}
	if after, _ := r128(t, out.Path); math.Abs(after-*l.Integrated) > 0.3 {
		t.Errorf("it has %g LUFS; want it as it was, %g", after, *l.Integrated)
	}
}

// TestALimiterNeitherMovesSoundNorShowsInPieces compares a track with a limiter to the same without, and in pieces.
func TestALimiterNeitherMovesSoundNorShowsInPieces(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := soundClip(t, "0.8*sin(2000*2*PI*t)*between(mod(t,1),0.3,0.4)+0.001*sin(300*t)", 9)
	p := normalized(t, tools, source)
	job := enginetest.NewJob(t, source)
	whole, err := tools.EncodeAudio(t.Context(), job, p.Levelled(&video.Loudness{Gain: 9, Limit: new(-2.0)}), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for n := range 9 {
		want = append(want, float64(n)+0.3)
	}
	sameBeeps(t, beeps(t, whole.Path)[0], want, 0.02)
	hashes := packetHashes(t, whole.Path)
	p.Early = &video.Early{Pieces: []int64{100, 240}}
	var pieces []string
	for n := range 3 {
		out, err := tools.EncodeAudio(t.Context(), enginetest.NewJob(t, source), p.Levelled(&video.Loudness{Gain: 9, Limit: new(-2.0)}), n, nil)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, packetHashes(t, out.Path)...)
	}
	if !slices.Equal(pieces, hashes) {
		t.Errorf("the pieces have %d packets, the track has %d, or others", len(pieces), len(hashes))
	}
}

// TestOnlyTheSoundOfAPartCounts has a loud beginning that is not made.
func TestOnlyTheSoundOfAPartCounts(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := soundClip(t, "if(lt(t,4),0.9,0.05)*sin(440*2*PI*t)", 10)
	p, err := tools.Inspect(t.Context(), enginetest.NewJob(t, source), plan.Request{Names: []video.Name{"144p"}, Normalize: true, Trim: &video.Trim{Start: 5, End: 9}})
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := wantLevelled(t, tools, source, p); l.Integrated == nil || *l.Integrated > -20 {
		t.Errorf("measured as %+v", l)
	}
}

// TestRealFilmsBecomeEquallyLoud has recordings that need a limiter, one of which is quiet noise in a single channel, and
// some that are silent or very short.
func TestRealFilmsBecomeEquallyLoud(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, name := range []string{
		"mkv_mpeg4_aac51.mkv", "mov_pcm_sowt.mov", "phone_portrait_rot90.mp4", "phone_4k60_portrait_short.mp4", "screenrec_tscc.avi", "vp8_vorbis_flower.webm",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := footage.Path(t, "variety", name)
			wantLevelled(t, tools, source, normalized(t, tools, source))
		})
	}
}
