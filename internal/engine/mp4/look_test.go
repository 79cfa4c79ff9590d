package mp4

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// content is what ffmpeg sees in a file.
type content struct {
	frames    map[int64]string // hashes of the decoded frames, by the tick each is shown at
	packets   []packet         // of the video track, in decode order
	audio     []string         // likewise: times and hash of each
	audioHash string           // of all audio, decoded
}

// looked remembers the content of files, under the keys that sameAs makes of their paths.
var looked sync.Map

// look returns what is in files: frames of films, audio of sounds. Of all that it does not know yet it asks one
// ffmpeg, which takes longer to start than to decode them. A warning fails the test.
func look(t testing.TB, films, sounds []string) (ofFilms, ofSounds []content) {
	t.Helper()
	unknown := func(kind string, paths []string) []string {
		return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(paths))), func(p string) bool {
			_, known := looked.Load(kind + sameAs([]string{p}))
			return known
		})
	}
	ask(t, unknown("film ", films), unknown("sound ", sounds))
	known := func(kind string, paths []string) (all []content) {
		for _, p := range paths {
			c, _ := looked.Load(kind + sameAs([]string{p}))
			all = append(all, c.(content))
		}
		return all
	}
	return known("film ", films), known("sound ", sounds)
}

// ask has one ffmpeg tell what is in files, and notes it.
func ask(t testing.TB, films, sounds []string) {
	t.Helper()
	if len(films)+len(sounds) == 0 {
		return
	}
	dir, args := t.TempDir(), []string{"-copyts"}
	for _, p := range slices.Concat(films, sounds) {
		args = append(args, "-i", p)
	}
	var video, audio []string
	for i := range films {
		video = append(video, "-map", fmt.Sprintf("%d:v:0", i))
	}
	for i := range sounds {
		audio = append(audio, "-map", fmt.Sprintf("%d:a:0", len(films)+i))
	}
	output := func(name string, options ...string) {
		args = append(append(args, options...), filepath.Join(dir, name))
	}
	output("packets", slices.Concat(video, audio, []string{"-c", "copy", "-copyinkf", "-f", "framecrc"})...)
	if len(films) > 0 {
		output("frames", append(video, "-fps_mode", "passthrough", "-enc_time_base", "1:12288", "-f", "framemd5")...)
	}
	if len(sounds) > 0 {
		output("audio", append(audio, "-f", "streamhash", "-hash", "md5")...)
	}
	ffmpeg(t, args...)
	seen := make([]content, len(films)+len(sounds))
	for i := range films {
		seen[i].frames = map[int64]string{}
	}
	eachLineOf(t, filepath.Join(dir, "packets"), func(stream int, fields []string) { seen[stream].addPacket(t, stream >= len(films), fields) })
	if len(films) > 0 {
		eachLineOf(t, filepath.Join(dir, "frames"), func(stream int, fields []string) { seen[stream].frames[number(t, fields[2])] = fields[5] })
	}
	if len(sounds) > 0 {
		eachLineOf(t, filepath.Join(dir, "audio"), func(stream int, fields []string) { seen[len(films)+stream].audioHash = fields[2] })
	}
	for i, p := range films {
		if len(seen[i].frames) == 0 {
			t.Fatalf("%s shows no frames", p)
		}
		looked.Store("film "+sameAs([]string{p}), seen[i])
	}
	for i, p := range sounds {
		looked.Store("sound "+sameAs([]string{p}), seen[len(films)+i])
	}
}

// addPacket adds a line of ffmpeg's framecrc: stream, decode time, time, duration, size, hash, and flags if they
// are others than those of a keyframe.
func (c *content) addPacket(t testing.TB, audio bool, fields []string) {
	t.Helper()
	if audio {
		c.audio = append(c.audio, strings.Join([]string{fields[2], fields[1], fields[5]}, ","))
		return
	}
	flags := int64(1)
	if len(fields) > 6 && strings.HasPrefix(fields[6], "F=") {
		flags = number(t, strings.TrimPrefix(fields[6], "F="))
	}
	c.packets = append(c.packets, packet{PTS: number(t, fields[2]), DTS: number(t, fields[1]), Key: flags&1 != 0})
}

// eachLineOf is eachLine for a file.
func eachLineOf(t testing.TB, path string, f func(stream int, fields []string)) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	eachLine(t, string(raw), f)
}

// eachLine calls f with the fields of each line that is about a stream, the first of which is its number.
func eachLine(t testing.TB, printed string, f func(stream int, fields []string)) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, ",")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		f(int(number(t, fields[0])), fields)
	}
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
