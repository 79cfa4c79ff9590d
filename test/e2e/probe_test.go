package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
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

// closeLook is what one ffprobe tells about a file and everything in it.
type closeLook struct {
	probedFile
	Items []struct {
		Type   string `json:"type"` // packet or frame
		Stream int    `json:"stream_index"`
		Time   string `json:"pts_time"`
		Flags  string `json:"flags"`
		PTS    int64  `json:"best_effort_timestamp"`
	} `json:"packets_and_frames"`
}

// lookClosely decodes a file.
func lookClosely(t testing.TB, file string) closeLook {
	t.Helper()
	return ask[closeLook](t, "-show_streams", "-show_format", "-show_chapters", "-show_entries",
		"packet=stream_index,pts_time,flags:frame=stream_index,best_effort_timestamp", file)
}

// times returns when each decoded picture is shown, in seconds after the first,
// computed from the integer ticks in the file.
func times(t testing.TB, file string) []float64 {
	t.Helper()
	return lookClosely(t, file).times(t)
}

func (l closeLook) times(t testing.TB) []float64 {
	t.Helper()
	pictures := l.pictures(t)
	var num, den int64
	base := l.Streams[pictures].TimeBase
	if _, err := fmt.Sscanf(base, "%d/%d", &num, &den); err != nil {
		t.Fatalf("time base %q: %v", base, err)
	}
	var all []float64
	var first int64
	for _, item := range l.Items {
		if item.Type != "frame" || item.Stream != pictures {
			continue
		}
		if all == nil {
			first = item.PTS
		}
		all = append(all, float64((item.PTS-first)*num)/float64(den))
	}
	return all
}

// keyframes returns when the frames are shown at which a player can begin.
func (l closeLook) keyframes(t testing.TB) []float64 {
	t.Helper()
	pictures := l.pictures(t)
	var all []float64
	for _, item := range l.Items {
		if item.Type == "packet" && item.Stream == pictures && strings.HasPrefix(item.Flags, "K") {
			all = append(all, number(t, item.Time))
		}
	}
	return all
}

// pictures returns the number of the first stream of pictures.
func (l closeLook) pictures(t testing.TB) int {
	t.Helper()
	i := slices.IndexFunc(l.Streams, func(s stream) bool { return s.Kind == "video" })
	if i < 0 {
		t.Fatal("the file has no pictures")
	}
	return i
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
