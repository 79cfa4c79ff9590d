package cluster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sourceVideo is what a customer uploads and what must come out of it.
type sourceVideo struct {
	Filename    string    `json:"filename"`
	Resolutions []string  `json:"resolutions"`
	IsPublic    bool      `json:"isPublic"`
	Codecs      []string  `json:"codecs,omitempty"` // beside H.264
	Thumbnails  []float64 `json:"thumbnailTimestampsSeconds,omitempty"`

	seconds, rate int // of the frames
	size          string
	gop           int // frames from one keyframe to the next; 0: two seconds
}

var (
	// feature is a video of several chunks, with two renditions.
	feature = sourceVideo{Filename: "feature.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true, Thumbnails: []float64{1, 40},
		seconds: 65, rate: 8, size: "320x180"}
	// short is a private video of three chunks, with one.
	short = sourceVideo{Filename: "short.mp4", Resolutions: []string{"144p"}, Thumbnails: []float64{50},
		seconds: 55, rate: 5, size: "256x144"}
	// clip is done in a moment.
	clip = sourceVideo{Filename: "clip.mp4", Resolutions: []string{"144p"}, IsPublic: true, seconds: 2, rate: 5, size: "256x144"}
)

// file returns the path of the video, which is made when it is needed first.
func (f sourceVideo) file(t testing.TB) string {
	t.Helper()
	path := filepath.Join(lab.dir, f.Filename)
	if err := lab.clips.Once(path, func() error { return f.shoot(path) }); err != nil {
		t.Fatalf("make %s: %v", f.Filename, err)
	}
	return path
}

// shoot makes a video with B-frames, and with audio that is silent but for half a second
// of every ten: encoding silence takes a fifth of the time, and the length is what counts.
func (f sourceVideo) shoot(path string) error {
	picture := fmt.Sprintf("testsrc2=size=%s:rate=%d", f.size, f.rate)
	_, err := run("ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", picture,
		"-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000,volume=0:enable='gte(mod(t,10),0.5)'", "-t", fmt.Sprint(f.seconds),
		"-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", fmt.Sprint(cmp.Or(f.gop, 2*f.rate)), "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-c:a", "aac", path)
	return err
}

// check wants a file to hold every picture of the video, each at the time at
// which it is shown when one machine makes the video in one piece, and audio of
// the same length, and to be decoded without a complaint of ffprobe.
func (f sourceVideo) check(file string) error {
	times, sound, err := inspect(file)
	if err != nil {
		return err
	}
	if want := f.seconds * f.rate; len(times) != want {
		return fmt.Errorf("%d pictures; want %d", len(times), want)
	}
	for i, at := range times {
		if want := float64(i) / float64(f.rate); math.Abs(at-times[0]-want) > 1e-9 {
			return fmt.Errorf("picture %d is shown at %v s; want %v s", i, at-times[0], want)
		}
	}
	if math.Abs(sound-float64(f.seconds)) > 0.1 {
		return fmt.Errorf("%v s of sound; want %d s", sound, f.seconds)
	}
	return nil
}

// inspect decodes a file and returns when each picture is shown, in seconds, and
// how many seconds of audio there are.
func inspect(file string) (times []float64, sound float64, err error) {
	out, err := run("ffprobe", "-v", "error", "-of", "json",
		"-show_entries", "frame=media_type,best_effort_timestamp,nb_samples:stream=codec_type,time_base,sample_rate", "-show_frames", file)
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Frames []struct {
			Kind    string `json:"media_type"`
			PTS     int64  `json:"best_effort_timestamp"`
			Samples int    `json:"nb_samples"`
		}
		Streams []struct {
			Kind     string `json:"codec_type"`
			TimeBase string `json:"time_base"`
			Rate     int    `json:"sample_rate,string"`
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return nil, 0, fmt.Errorf("decode ffprobe's answer: %w", err)
	}
	var num, den, rate, samples int64
	for _, s := range answer.Streams {
		if s.Kind == "audio" {
			rate = int64(s.Rate)
		} else if _, err := fmt.Sscanf(s.TimeBase, "%d/%d", &num, &den); err != nil {
			return nil, 0, fmt.Errorf("time base %q: %w", s.TimeBase, err)
		}
	}
	for _, f := range answer.Frames {
		if f.Kind == "audio" {
			samples += int64(f.Samples)
		} else {
			times = append(times, float64(f.PTS*num)/float64(den))
		}
	}
	return times, float64(samples) / float64(max(rate, 1)), nil
}

// run runs a program and returns what it printed. A complaint on stderr is an
// error, whatever the program's exit status.
func run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if said := strings.TrimSpace(stderr.String()); err != nil || said != "" {
		return "", fmt.Errorf("%s: %v: %.500s", name, err, said)
	}
	return stdout.String(), nil
}
