package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// frameSize is a picture's, in pixels.
type frameSize struct{ width, height int }

// TestOutputs looks at every file that comes out for sources of many kinds.
func TestOutputs(t *testing.T) {
	oneBackend(t, "the same engine reads and writes local files there")
	t.Parallel()
	s := shared(t)
	tests := []struct {
		name   string
		clip   string
		sound  bool
		chunks int
		sizes  map[string]frameSize
	}{
		{"an ordinary film", tinyClip, true, 1, map[string]frameSize{"360p": {640, 360}, "240p": {426, 240}, "144p": {256, 144}}},
		{"a film held upright", rotatedClip, true, 1, map[string]frameSize{"360p": {180, 320}, "144p": {144, 256}}},
		{"a film with oblong pixels", anamorphicClip, false, 1, map[string]frameSize{"720p": {1024, 576}, "480p": {854, 480}}},
		{"a film with uneven times", variableClip, true, 1, map[string]frameSize{"144p": {256, 144}}},
		{"a film of 50 pictures a second", fastClip, true, 1, map[string]frameSize{"144p": {256, 144}}},
		{"a film without sound", silentClip, false, 1, map[string]frameSize{"144p": {256, 144}}},
		{"a film with all kinds of luggage", ladenClip, true, 1, map[string]frameSize{"144p": {256, 144}}},
		{"a film of several chunks with open GOPs", longClip, true, 9, map[string]frameSize{"144p": {160, 120}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if slices.Contains([]string{anamorphicClip, variableClip, fastClip}, tt.clip) {
				need.TimeFor(t, "package encode makes such films, in TestClips and TestChunksMakeTheSameVideo")
			}
			s, source := s.in(t), clip(t, tt.clip)
			want := newVideo{Filename: tt.clip, IsPublic: true}
			for name := range tt.sizes {
				want.Resolutions = append(want.Resolutions, name)
			}
			w := s.publish(want, source)
			if chunks := s.report(w.ID).tasks()["encode"]; chunks != tt.chunks {
				t.Errorf("%d chunks were encoded, want %d", chunks, tt.chunks)
			}
			shown := times(t, source)
			for name, size := range tt.sizes {
				t.Run(name, func(t *testing.T) {
					file := s.in(t).download(w.Resolutions[name].VideoURL)
					found := lookClosely(t, file)
					checkStreams(t, found.probedFile, size, tt.sound)
					checkTimes(t, found, shown)
					checkLayout(t, file)
					checkPicture(t, file, source, size)
				})
			}
		})
	}
}

// TestTheOperatorLimitsTheSizes asks for far more than the settings allow: what comes out is as large
// as they allow, and made once.
func TestTheOperatorLimitsTheSizes(t *testing.T) {
	oneBackend(t, "the same engine reads and writes local files there")
	t.Parallel()
	s := start(t, withEnv("SPOOL_MAX_RESOLUTION", "240p"), withEnv("SPOOL_MAX_UPSCALE", "1.5"))
	ask := newVideo{Filename: "small.mp4", Resolutions: []string{"144p", "240p", "4k", "8k"}, IsPublic: true, Upscale: true}
	tests := []struct {
		clip   string
		want   map[string]frameSize
		reason string
	}{
		{miniClip, map[string]frameSize{"144p": {192, 144}, "240p": {240, 180}, "4k": {240, 180}, "8k": {240, 180}}, "at most 1.5 times its size"},
		{tinyClip, map[string]frameSize{"144p": {256, 144}, "240p": {426, 240}, "4k": {426, 240}, "8k": {426, 240}}, "nothing larger than 240p"},
	}
	for _, tt := range tests {
		w := s.publish(ask, clip(t, tt.clip))
		for name, size := range tt.want {
			if r := w.Resolutions[name]; r.Width != size.width || r.Height != size.height {
				t.Errorf("%s of %s is %d × %d; want %+v", name, tt.clip, r.Width, r.Height, size)
			}
		}
		report := s.report(w.ID)
		said := false
		for _, d := range report.Decisions {
			said = said || strings.Contains(d.Reason, tt.reason)
		}
		if !said {
			t.Errorf("no decision says %q: %+v", tt.reason, report.Decisions)
		}
	}
}

// checkStreams checks what a file holds: a picture every device can show, the
// audio if there was some, and nothing else.
func checkStreams(t testing.TB, f probedFile, want frameSize, sound bool) {
	t.Helper()
	v := f.video(t)
	if v.Codec != "h264" || v.Profile != "High" || v.PixelFormat != "yuv420p" || v.PixelShape != "1:1" {
		t.Errorf("the picture is %s %s %s with pixels %s, want h264 High yuv420p with square pixels", v.Codec, v.Profile, v.PixelFormat, v.PixelShape)
	}
	if got := (frameSize{v.Width, v.Height}); got != want {
		t.Errorf("the picture has %v, want %v", got, want)
	}
	if len(v.SideData) > 0 {
		t.Errorf("the picture carries side data, such as a rotation: %s", v.SideData)
	}
	sounds := f.of("audio")
	if len(sounds) > 1 || sound != (len(sounds) == 1) || len(f.Streams) != 1+len(sounds) {
		t.Fatalf("the file has %d streams, %d of them audio; want one picture and audio: %v", len(f.Streams), len(sounds), sound)
	}
	for _, a := range sounds {
		if a.Codec != "aac" || a.Profile != "LC" || a.SampleRate != "48000" || a.Channels != 2 {
			t.Errorf("the audio is %s %s %s Hz, %d channels; want AAC LC 48000 Hz stereo", a.Codec, a.Profile, a.SampleRate, a.Channels)
		}
		if delay := number(t, a.StartTime) - number(t, v.StartTime); !near(delay, 0, 0.02) {
			t.Errorf("the audio begins %.3f s after the picture", delay)
		}
	}
	checkNoLuggage(t, f)
}

// checkNoLuggage wants no word in the file but those that the format demands.
func checkNoLuggage(t testing.TB, f probedFile) {
	t.Helper()
	harmless := []string{"major_brand", "minor_version", "compatible_brands", "language", "handler_name", "vendor_id"}
	tags := []map[string]string{f.Format.Tags}
	for _, s := range f.Streams {
		tags = append(tags, s.Tags)
	}
	for _, set := range tags {
		for key, value := range set {
			if !slices.Contains(harmless, key) {
				t.Errorf("the file carries the tag %s=%q", key, value)
			}
		}
	}
	if len(f.Chapters) > 0 {
		t.Errorf("the file carries chapters: %s", f.Chapters)
	}
}

// checkTimes wants every picture of the source, at its own time, and no others.
func checkTimes(t testing.TB, found closeLook, want []float64) {
	t.Helper()
	got := found.times(t)
	if len(got) != len(want) {
		t.Fatalf("the file has %d frames, the source %d", len(got), len(want))
	}
	for i := range want {
		if !near(got[i], want[i], 20e-6) {
			t.Fatalf("picture %d is shown at %.6f s, in the source at %.6f s", i, got[i], want[i])
		}
	}
	last := len(want) - 1
	frame := longestStep(want)
	starts := append(found.keyframes(t), want[last])
	if longest := longestStep(starts); starts[0] != 0 || longest > 2+frame {
		t.Errorf("the first keyframe is at %.3f s and the longest way between two is %.3f s; want 0 and at most 2 and a frame", starts[0], longest)
	}
	if length := number(t, found.Format.Duration); !near(length, want[last]+frame, 0.05+frame) {
		t.Errorf("the file lasts %.3f s, its last picture ends at %.3f s", length, want[last]+frame)
	}
}

func longestStep(times []float64) float64 {
	longest := 0.0
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i]-times[i-1])
	}
	return longest
}

// checkLayout wants the index before the frames, so that playing can begin
// before everything has been loaded.
func checkLayout(t testing.TB, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var boxes []string
	for at := 0; at+8 <= len(b); {
		boxes = append(boxes, string(b[at+4:at+8]))
		length := int(binary.BigEndian.Uint32(b[at:]))
		if length < 8 {
			break
		}
		at += length
	}
	moov, mdat := slices.Index(boxes, "moov"), slices.Index(boxes, "mdat")
	if len(boxes) == 0 || boxes[0] != "ftyp" || moov < 0 || mdat < moov {
		t.Errorf("the boxes are %q, want ftyp first and moov before mdat", boxes)
	}
}

// leastAlike is how much an output must be like its source. They measure 0.98
// and more; frames of the source that follow each other about 0.92.
const leastAlike = 0.96

// checkPicture compares with the source, which ffmpeg turns upright by itself. No decoder, of either
// file, may print a warning.
func checkPicture(t testing.TB, file, source string, s frameSize) {
	t.Helper()
	const order = "settb=1,setpts=N" // pictures are compared in their order
	graph := fmt.Sprintf("[0:v]%s[a];[1:v]scale=%d:%d:flags=bicubic,setsar=1,format=yuv420p,%s[b];[a][b]ssim=stats_file=-[c]", order, s.width, s.height, order)
	printed, said, err := run("ffmpeg", "-nostdin", "-hide_banner", "-v", "warning", "-xerror", "-i", file, "-i", source,
		"-lavfi", graph, "-map", "0", "-f", "null", "-", "-map", "[c]", "-f", "null", "-")
	if said = aboutTimecode.ReplaceAllString(said, ""); err != nil || said != "" {
		t.Fatalf("decoding says %q, %v", said, err)
	}
	sum, frames := 0.0, 0
	for _, m := range frameSSIM.FindAllStringSubmatch(printed, -1) {
		sum += number(t, m[1])
		frames++
	}
	if got := sum / float64(frames); frames == 0 || got < leastAlike {
		t.Errorf("the %d pictures are %.4f like the source, want %.2f", frames, got, leastAlike)
	}
}

// aboutTimecode is said of a source. No output has such a stream.
var aboutTimecode = regexp.MustCompile(`(?m)^\[mov,.*\] Using non-standard frame rate .*\n`)

var frameSSIM = regexp.MustCompile(`(?m)^n:.* All:([0-9.]+)`)

// TestAudioStaysWithTheVideo uses videos in which a tone begins at the very
// second at which the picture turns from black to white.
func TestAudioStaysWithTheVideo(t *testing.T) {
	oneBackend(t, "the same engine reads and writes local files there")
	need.TimeFor(t, "the test of the same name of package encode has more sources")
	t.Parallel()
	s := shared(t)
	for name, source := range map[string]string{
		"both begin together":              clapClip,
		"the sound begins later":           lateClip,
		"a recording begins in mid-stream": streamClip,
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			w := s.publish(newVideo{Filename: source, Resolutions: []string{"144p"}, IsPublic: true}, clip(t, source))
			file := s.download(w.Resolutions["144p"].VideoURL)
			picture := detected(t, file, "-vf", "blackdetect=d=0.1:pix_th=0.2", "black_end")
			sound := detected(t, file, "-af", "silencedetect=n=-30dB:d=0.1", "silence_end")
			if !near(picture, 1, 0.001) || !near(sound, 1, 0.02) {
				t.Errorf("the picture changes at %.3f s and the audio at %.3f s, want both at 1", picture, sound)
			}
		})
	}
}
