package mp4

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const scale = 12288 // ticks a second of every video track made here

// ffmpeg runs ffmpeg and returns what it wrote to standard output. A warning
// fails the test as an error does.
func ffmpeg(t testing.TB, args ...string) string {
	t.Helper()
	return capture(t, "ffmpeg", append([]string{"-v", "warning", "-xerror", "-nostdin", "-y"}, args...))
}

func capture(t testing.TB, bin string, args []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %q: %v\n%s", bin, args, err, &stderr)
	}
	return stdout.String()
}

// makeSource makes six seconds of test pattern; vary drops and moves frames.
func makeSource(t testing.TB, vary bool) string {
	t.Helper()
	filter := "null"
	if vary {
		filter = `select=not(eq(mod(n\,7)\,3)),setpts=PTS+mod(N\,3)*0.004/TB`
	}
	return makeFile(t, "source.mp4", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=24:d=6", "-vf", "settb=1/12288,"+filter, "-fps_mode", "passthrough",
		"-enc_time_base", "1:12288", "-video_track_timescale", "12288", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0")
}

// encode makes the chunk file of source from tick start to tick end.
func encode(t testing.TB, source string, start, end int64, extra ...string) string {
	t.Helper()
	return encodeWith(t, source, start, end, append([]string{"-c:v", "libx264", "-preset", "veryfast"}, extra...))
}

func encodeWith(t testing.TB, source string, start, end int64, codec []string) string {
	t.Helper()
	trim := fmt.Sprintf("[0:v:0]trim=start_pts=%d:end_pts=%d,setpts=PTS-0[v]", start, end)
	args := []string{"-copyts", "-i", source, "-filter_complex", trim, "-map", "[v]", "-fps_mode", "passthrough",
		"-enc_time_base", "1:12288", "-video_track_timescale", "12288", "-movie_timescale", "12288",
		"-avoid_negative_ts", "disabled", "-threads", "1"}
	return makeFile(t, fmt.Sprintf("chunk-%d.mp4", start), slices.Concat(args, codec)...)
}

// encodeChunks makes a chunk file for each stretch between two of borders.
func encodeChunks(t testing.TB, source string, borders ...int64) []string {
	t.Helper()
	var paths []string
	for i := range borders[1:] {
		paths = append(paths, encode(t, source, borders[i], borders[i+1]))
	}
	return paths
}

// makeAudio encodes a tone that starts late and lasts for some seconds.
func makeAudio(t testing.TB, late, seconds float64) string {
	t.Helper()
	return makeFile(t, "audio.mp4", "-f", "lavfi", "-i", fmt.Sprintf("sine=r=48000:d=%g", seconds), "-copyts", "-af", fmt.Sprintf("asetpts=PTS+%g/TB", late),
		"-c:a", "aac", "-ac", "2", "-movie_timescale", "48000", "-avoid_negative_ts", "disabled")
}

func open(t testing.TB, path string) Input {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return Input{f, info.Size()}
}

func openAll(t testing.TB, paths []string) []Input {
	t.Helper()
	var pieces []Input
	for _, p := range paths {
		pieces = append(pieces, open(t, p))
	}
	return pieces
}

// assemble writes the rendition to a file, verifies it, and lets ffmpeg decode it all
// without a warning, together with other files that the test will ask about.
func assemble(t testing.TB, pieces []Input, sound *Input, others ...string) (path string, s Summary) {
	t.Helper()
	path, s = write(t, pieces, sound)
	var sounds []string
	if sound != nil {
		sounds = []string{path}
	}
	look(t, append(others, path), sounds)
	return path, s
}

// oneOrNone returns the pieces of an audio track that is not cut.
func oneOrNone(sound *Input) []Input {
	if sound == nil {
		return nil
	}
	return []Input{*sound}
}

// write writes the rendition to a file and verifies it.
func write(t testing.TB, pieces []Input, sound *Input) (path string, s Summary) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rendition.mp4")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err = Assemble(f, pieces, oneOrNone(sound), Timing{})
	if err != nil {
		t.Fatalf("Assemble: %v", err)
	}
	if err := Verify(open(t, path), s); err != nil {
		t.Fatal(err)
	}
	return path, s
}

type packet struct {
	PTS int64
	DTS int64
	Key bool
}

// packets lists the packets of the video track in decode order.
func packets(t testing.TB, path string) []packet {
	t.Helper()
	films, _ := look(t, []string{path}, nil)
	return films[0].packets
}

// times returns when frames are shown, in order.
func times(packets []packet) []int64 {
	var pts []int64
	for _, p := range packets {
		pts = append(pts, p.PTS)
	}
	slices.Sort(pts)
	return pts
}

// frameHashes returns the hash of every decoded frame by the tick it is shown at. input are options of ffmpeg.
func frameHashes(t testing.TB, path string, input ...string) map[int64]string {
	t.Helper()
	if len(input) == 0 {
		films, _ := look(t, []string{path}, nil)
		return films[0].frames
	}
	args := slices.Concat([]string{"-copyts"}, input, []string{"-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
		"-enc_time_base", "1:12288", "-f", "framemd5", "-"})
	hashes := map[int64]string{}
	eachLine(t, ffmpeg(t, args...), func(_ int, fields []string) { hashes[number(t, fields[2])] = fields[5] })
	if len(hashes) == 0 {
		t.Fatalf("%s shows no frames", path)
	}
	return hashes
}

// startTimes returns when each track starts, in seconds, as ffprobe sees it.
func startTimes(t testing.TB, path string) (pictures, sound float64) {
	t.Helper()
	pictures, sound = math.NaN(), math.NaN()
	raw := capture(t, "ffprobe", []string{"-v", "warning", "-show_entries", "stream=codec_type,start_time", "-of", "csv=p=0", path})
	for line := range strings.Lines(raw) {
		kind, start, _ := strings.Cut(strings.TrimSpace(line), ",")
		seconds, err := strconv.ParseFloat(start, 64)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "video" {
			pictures = seconds
		} else {
			sound = seconds
		}
	}
	return pictures, sound
}
