package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// probedFile is what ffprobe tells about a file.
type probedFile struct {
	Streams []stream `json:"streams"`
	Format  struct {
		Duration string            `json:"duration"`
		Tags     map[string]string `json:"tags"`
	} `json:"format"`
	Chapters []json.RawMessage `json:"chapters"`
}

type stream struct {
	Kind        string            `json:"codec_type"`
	Codec       string            `json:"codec_name"`
	Profile     string            `json:"profile"`
	PixelFormat string            `json:"pix_fmt"`
	Width       int               `json:"width"`
	Height      int               `json:"height"`
	PixelShape  string            `json:"sample_aspect_ratio"`
	TimeBase    string            `json:"time_base"`
	StartTime   string            `json:"start_time"`
	Duration    string            `json:"duration"`
	SampleRate  string            `json:"sample_rate"`
	Channels    int               `json:"channels"`
	Tags        map[string]string `json:"tags"`
	SideData    []json.RawMessage `json:"side_data_list"`
}

// probe asks ffprobe about a file.
func probe(t testing.TB, file string) probedFile {
	t.Helper()
	return ask[probedFile](t, "-show_streams", "-show_format", "-show_chapters", file)
}

func ask[T any](t testing.TB, args ...string) T {
	t.Helper()
	out, err := output("ffprobe", append([]string{"-v", "error", "-of", "json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("decode ffprobe's answer: %v", err)
	}
	return v
}

// of returns the streams of one kind.
func (f probedFile) of(kind string) []stream {
	var all []stream
	for _, s := range f.Streams {
		if s.Kind == kind {
			all = append(all, s)
		}
	}
	return all
}

// video returns the only video stream.
func (f probedFile) video(t testing.TB) stream {
	t.Helper()
	all := f.of("video")
	if len(all) != 1 {
		t.Fatalf("the file has %d picture streams, want 1", len(all))
	}
	return all[0]
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatalf("%q is no number", s)
	}
	return n
}

// times returns when each decoded picture is shown, in seconds after the first,
// computed from the integer ticks in the file.
func times(t testing.TB, file string) []float64 {
	t.Helper()
	type frames struct {
		Frames []struct {
			PTS int64 `json:"best_effort_timestamp"`
		} `json:"frames"`
		Streams []stream `json:"streams"`
	}
	f := ask[frames](t, "-select_streams", "v:0", "-show_entries", "frame=best_effort_timestamp:stream=time_base", file)
	var num, den int64
	if _, err := fmt.Sscanf(f.Streams[0].TimeBase, "%d/%d", &num, &den); err != nil {
		t.Fatalf("time base %q: %v", f.Streams[0].TimeBase, err)
	}
	all := make([]float64, len(f.Frames))
	for i, frame := range f.Frames {
		all[i] = float64((frame.PTS-f.Frames[0].PTS)*num) / float64(den)
	}
	return all
}

// keyframes returns when the frames are shown at which a player can begin.
func keyframes(t testing.TB, file string) []float64 {
	t.Helper()
	type packets struct {
		Packets []struct {
			Time  string `json:"pts_time"`
			Flags string `json:"flags"`
		} `json:"packets"`
	}
	var all []float64
	for _, p := range ask[packets](t, "-select_streams", "v:0", "-show_entries", "packet=pts_time,flags", file).Packets {
		if strings.HasPrefix(p.Flags, "K") {
			all = append(all, number(t, p.Time))
		}
	}
	return all
}

var ssimResult = regexp.MustCompile(`SSIM .*All:([0-9.]+)`)

// similarity compares two files picture by picture, by their order: 1 is equal.
// Each is filtered first.
func similarity(t testing.TB, file, filter, reference, referenceFilter string) float64 {
	t.Helper()
	graph := fmt.Sprintf("[0:v]%s,settb=1/1000,setpts=N*40[a];[1:v]%s,settb=1/1000,setpts=N*40[b];[a][b]ssim", filter, referenceFilter)
	_, said, err := run("ffmpeg", "-nostdin", "-hide_banner", "-v", "info", "-i", file, "-i", reference, "-lavfi", graph, "-f", "null", "-")
	if err != nil {
		t.Fatal(err)
	}
	m := ssimResult.FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("ffmpeg did not compare: %s", said)
	}
	return number(t, m[1])
}

// detected returns the first number that a filter of ffmpeg reports under name.
func detected(t testing.TB, file, option, filter, name string) float64 {
	t.Helper()
	_, said, err := run("ffmpeg", "-nostdin", "-hide_banner", "-v", "info", "-i", file, option, filter, "-f", "null", "-")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(name + `: ?([0-9.]+)`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("%s found nothing: %s", filter, said)
	}
	return number(t, m[1])
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }
