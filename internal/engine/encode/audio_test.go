package encode

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

var silenceEnd = regexp.MustCompile(`silence_end=([0-9.]+)`)

// inOnePiece returns the plan without the pieces that the audio of a long video is encoded in.
func inOnePiece(p *video.Plan) *video.Plan {
	whole := *p
	whole.Early = nil
	return &whole
}

// beeps returns when silence ends in the audio of each file, by the file's own clock. Where it lasts to the end of
// the track, its end is no beep.
func beeps(t *testing.T, paths ...string) (all [][]float64) {
	t.Helper()
	args, dir := []string{"-v", "error", "-nostdin", "-copyts"}, t.TempDir()
	for _, path := range paths {
		args = append(args, "-i", path)
	}
	found := func(i int) string { return filepath.Join(dir, strconv.Itoa(i)) }
	for i := range paths {
		args = append(args, "-map", fmt.Sprintf("%d:a:0", i), "-af",
			"silencedetect=n=-40dB:d=0.1,ametadata=print:key=lavfi.silence_end:file='"+found(i)+"'", "-f", "null", "-")
	}
	enginetest.RunFFmpeg(t, args...)
	for i := range paths {
		var of []float64
		for _, m := range silenceEnd.FindAllStringSubmatch(readFile(t, found(i)), -1) {
			at, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, at)
		}
		all = append(all, of)
	}
	return all
}

// sameBeeps makes sure that silence ends when it should, and at no other time.
func sameBeeps(t *testing.T, got, want []float64, tolerance float64) {
	t.Helper()
	for i, at := range want {
		if i >= len(got) || math.Abs(got[i]-at) > tolerance {
			t.Fatalf("silence ends at %.3f; want %.3f, to within %.3f", got, want, tolerance)
		}
	}
	if len(got) > len(want) {
		t.Errorf("silence ends at %.3f; want %.3f", got, want)
	}
}

// TestAudioStaysWithTheVideo puts a beep one second after the first frame
// and looks for it in the output.
func TestAudioStaysWithTheVideo(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	const beep = "aevalsrc='if(between(t,1,1.5),sin(2000*t),0)':s=44100:d=2"
	tests := []struct {
		name, file   string
		video, audio string // when each input begins
		args         []string
		want         float64 // about; encoders of audio add some delay
	}{
		{"in an MP4", "a.mp4", "0", "0", nil, 1},
		{"in a fragmented MP4", "a.mp4", "0", "0", []string{"-movflags", "frag_keyframe+empty_moov"}, 1},
		{"in QuickTime without compression", "a.mov", "0", "0", []string{"-c:a", "pcm_s16le"}, 1},
		{"in a transport stream that begins late", "a.ts", "0", "0", nil, 1},
		{"in a transport stream that begins a day late", "a.ts", "0", "0", []string{"-output_ts_offset", "86400"}, 1},
		{"in a program stream", "a.mpg", "0", "0", []string{"-c:v", "mpeg2video"}, 1},
		{"in Flash video", "a.flv", "0", "0", []string{"-c:v", "libx264"}, 1},
		{"in Windows Media", "a.wmv", "0", "0", []string{"-bf", "0"}, 1},
		{"in WebM with Opus", "a.webm", "0", "0", []string{"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus"}, 1},
		{"in Ogg", "a.ogv", "0", "0", []string{"-c:v", "libtheora", "-c:a", "libvorbis"}, 1},
		{"in MXF", "a.mxf", "0", "0", []string{"-c:v", "mpeg2video", "-c:a", "pcm_s16le", "-ar", "48000"}, 1},
		{"in Matroska, audio begins after the frame", "a.mkv", "0", "0.3", nil, 1.3},
		{"in an MP4, audio begins after the frame", "a.mp4", "0", "0.7", nil, 1.7},
		{"in an MP4, audio begins before the frame", "a.mp4", "0.3", "0", nil, 0.7},
		{"in a transport stream, audio begins before the frame", "a.ts", "0.3", "0", nil, 0.7},
		{"in an MP4 from a negative time on", "a.mp4", "0", "0", []string{"-output_ts_offset", "-0.2", "-avoid_negative_ts", "disabled"}, 0.8}, // what precedes zero is not shown
		{"in AVI with B-frames", "a.avi", "0", "0", nil, 1},
	}
	var inputs, kinds []string
	input := func(begin, pattern string) string { // that is mapped
		n := slices.Index(kinds, begin+pattern)
		if n < 0 {
			n, kinds = len(kinds), append(kinds, begin+pattern)
			inputs = append(inputs, "-itsoffset", begin, "-f", "lavfi", "-i", pattern)
		}
		return strconv.Itoa(n)
	}
	clips := outputs{rare: []string{"in QuickTime without compression", "in a transport stream that begins a day late", "in Windows Media",
		"in Ogg", "in MXF", "in Flash video", "in a program stream", "in a transport stream, audio begins before the frame"}}
	for _, tt := range tests {
		clips.add(tt.name, tt.file, append([]string{"-map", input(tt.video, "testsrc2=s=160x120:r=25:d=2"), "-map", input(tt.audio, beep),
			"-preset", "ultrafast", "-bf", "2", "-fps_mode", "passthrough"}, tt.args...)...)
	}
	paths := enginetest.Outputs(t, inputs, clips.all...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			audioAt(t, tools, clips.of(t, paths, tt.name), tt.want)
		})
	}
}

// audioAt encodes the audio of a video and looks whether its beep comes when it
// comes in the source, which is about when it should.
func audioAt(t *testing.T, tools *engine, source string, about float64) {
	t.Helper()
	job := enginetest.NewJob(t, source)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := tools.EncodeAudio(t.Context(), job, inOnePiece(plan), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	heard := beeps(t, source, out.Path)
	if len(heard[0]) == 0 {
		t.Fatal("the source does not beep")
	}
	want := heard[0][0] - plan.Input.TimeBase.Seconds(plan.FirstPTS)
	if math.Abs(want-about) > 0.05 {
		t.Fatalf("the source beeps at %.3f; want about %.3f", want, about)
	}
	sameBeeps(t, heard[1], []float64{want}, 0.02)
}

// TestAudioStaysWithEdits cuts the beginning off a video without encoding it
// anew, which leaves an edit list, or frames without a keyframe.
func TestAudioStaysWithEdits(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	whole := beepVideo(t, "whole.mp4", "-g", "50")
	for _, name := range []string{"cut.mp4", "cut.mov", "cut.mkv"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, name, "cut.mov")
			path := filepath.Join(t.TempDir(), name)
			enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-ss", "0.4", "-i", whole, "-c", "copy", path)
			// What the cut left of the frames tells where the beep is now.
			plan, err := tools.Inspect(t.Context(), enginetest.NewJob(t, path), plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			want := 1 - (2 - float64(plan.Frames)/25)
			audioAt(t, tools, path, want)
		})
	}
}

// TestLongSilencesStayExact has ffmpeg make audio that begins late and pauses
// for long, and looks whether the beeps come when they should.
func TestLongSilencesStayExact(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mkv")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=5:d=110", "-f", "lavfi", "-i",
		"aevalsrc='if(between(mod(t,10),1,1.5),sin(2000*t),0)':s=8000:d=110", "-af",
		"aselect='between(t,40,50)+gte(t,100)'", "-c:a", "pcm_s16le", path)
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Audio.Silences) != 2 {
		t.Errorf("silences are %v; want 2", plan.Audio.Silences)
	}
	out, err := tools.EncodeAudio(t.Context(), job, inOnePiece(plan), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameBeeps(t, beeps(t, out.Path)[0], []float64{41, 101}, 0.02)
	if s := probeFile(t, out.Path, "a:0").Streams[0]; s.Duration[:4] != "110." {
		t.Errorf("audio lasts %s s; want 110", s.Duration)
	}
}

// TestAudioOutlastsTheVideo makes sure that what is said over the last
// frame is heard.
func TestAudioOutlastsTheVideo(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mp4")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=1", "-f", "lavfi", "-i", "sine=d=3", path)
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := plan.Duration.Seconds(); s < 2.95 || s > 3.05 || plan.Frames != 25 {
		t.Errorf("the video lasts %.3f s with %d frames; want 3 and 25", s, plan.Frames)
	}
	checkAudio(t, tools, job, plan)
}

func TestAudioBeforeTheVideo(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mkv")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-itsoffset", "1.5", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=2", "-f", "lavfi", "-i", "sine=d=3.5", "-fps_mode", "passthrough", path)
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if early := plan.Audio.Early.Seconds(); early < 1.45 || early > 1.55 {
		t.Errorf("%.3f s of audio come before the frames; want 1.5", early)
	}
	checkAudio(t, tools, job, plan)
}

// TestChannelsBecomeStereo measures what is left of a tone in each channel of
// the source.
func TestChannelsBecomeStereo(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	tests := []struct {
		layout      string
		channel     int
		left, right bool
	}{
		{"mono", 0, true, true},
		{"stereo", 0, true, false},
		{"stereo", 1, false, true},
		{"5.1", 2, true, true}, // the voice
		{"5.1", 4, true, false},
		{"7.1", 7, false, true},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s channel %d", tt.layout, tt.channel)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, name, "stereo channel 1", "5.1 channel 4")
			path := filepath.Join(t.TempDir(), "a.mkv")
			enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=5:d=1", "-f", "lavfi", "-i", "sine=d=1",
				"-af", fmt.Sprintf("pan=%s|c%d=c0", tt.layout, tt.channel), "-c:a", "flac", path)
			if l, r := loud(t, audioOf(t, tools, path)); l != tt.left || r != tt.right {
				t.Errorf("heard left: %v, right: %v; want %v and %v", l, r, tt.left, tt.right)
			}
		})
	}
}

// TestMonoIsAsLoudAsItWas wants both speakers to get a single channel as it is.
func TestMonoIsAsLoudAsItWas(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mkv")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=s=64x64:r=5:d=1", "-f", "lavfi", "-i", "aevalsrc=0.5*sin(880*PI*t):d=1",
		"-c:a", "flac", path)
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-ss", "0.3", "-t", "0.4", "-i", audioOf(t, tools, path), "-f", "s8", "-").Output()
	if err != nil || len(raw) == 0 {
		t.Fatalf("decode audio: %v, %d bytes", err, len(raw))
	}
	var loudest [2]int8
	for pair := range slices.Chunk(raw, 2) {
		loudest[0], loudest[1] = max(loudest[0], int8(pair[0])), max(loudest[1], int8(pair[1]))
	}
	for i, peak := range loudest {
		if peak < 59 || peak > 69 { // it was 64, and AAC is not exact
			t.Errorf("the peak of channel %d is %d of 128; want 64", i, peak)
		}
	}
}

// audioOf encodes the audio of a file, and returns where it is.
func audioOf(t *testing.T, tools *engine, path string) string {
	t.Helper()
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := tools.EncodeAudio(t.Context(), job, inOnePiece(plan), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Path
}

// loud reports which of the two channels of a file have a tone.
func loud(t *testing.T, path string) (left, right bool) {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "s8", "-").Output()
	if err != nil || len(raw) == 0 {
		t.Fatalf("decode audio: %v, %d bytes", err, len(raw))
	}
	for pair := range slices.Chunk(raw, 2) {
		left, right = left || int8(pair[0]) > 3, right || int8(pair[1]) > 3
	}
	return left, right
}
