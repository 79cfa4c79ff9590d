package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// variant is what a master playlist says of a rendition.
type variant struct {
	bandwidth, average int
	codecs, size, rate string
	audio              bool
	file               string
}

var (
	variantLine = regexp.MustCompile(`#EXT-X-STREAM-INF:BANDWIDTH=(\d+),AVERAGE-BANDWIDTH=(\d+),CODECS="([^"]*)",RESOLUTION=(\w+),FRAME-RATE=([0-9.]+)(,AUDIO="audio")?(?:,SUBTITLES="[^"]*")?,CLOSED-CAPTIONS=NONE\n(\S+)\n`)
	segmentLine = regexp.MustCompile(`#EXTINF:([0-9.]+),\n(\S+)\n`)
	initLine    = regexp.MustCompile(`#EXT-X-MAP:URI="(\S+)"`)
)

// beside returns the address of another file of the same stream.
func beside(url, file string) string { return url[:strings.LastIndex(url, "/")+1] + file }

// fetch gets a file of a stream, from the server itself.
func (s *server) fetch(url string) []byte {
	s.t.Helper()
	r := s.hop(url)
	if r.status != http.StatusOK {
		s.t.Fatalf("%s answers %d %s", url, r.status, r.body)
	}
	return r.body
}

func (s *server) variants(master string) []variant {
	s.t.Helper()
	var all []variant
	for _, m := range variantLine.FindAllStringSubmatch(string(s.fetch(master)), -1) {
		peak, _ := strconv.Atoi(m[1])
		average, _ := strconv.Atoi(m[2])
		all = append(all, variant{peak, average, m[3], m[4], m[5], m[6] != "", m[7]})
	}
	return all
}

// track is a media playlist with what it leads to.
type track struct {
	init     []byte
	lengths  []string
	segments [][]byte
}

func (s *server) track(url string) track {
	s.t.Helper()
	text := string(s.fetch(url))
	if !strings.HasSuffix(text, "#EXT-X-ENDLIST\n") {
		s.t.Errorf("the playlist has no end:\n%s", text)
	}
	t := track{init: s.fetch(beside(url, initLine.FindStringSubmatch(text)[1]))}
	for _, m := range segmentLine.FindAllStringSubmatch(text, -1) {
		t.lengths = append(t.lengths, m[1])
		t.segments = append(t.segments, s.fetch(beside(url, m[2])))
	}
	return t
}

// peak returns the most bits a second that a segment takes.
func (k track) peak(t testing.TB) float64 {
	t.Helper()
	var most float64
	for i, segment := range k.segments {
		most = max(most, float64(len(segment))*8/number(t, k.lengths[i]))
	}
	return most
}

// shown returns time and hash of each picture that a player shows.
func shown(t testing.TB, url string) []string {
	t.Helper()
	out, err := output("ffmpeg", "-nostdin", "-v", "error", "-copyts", "-i", url, "-map", "0:v:0",
		"-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "framemd5", "-")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if fields := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), " ", ""), ","); len(fields) == 6 {
			all = append(all, fields[2]+" "+fields[5])
		}
	}
	return all
}

// played returns time and hash of each packet of audio.
func played(t testing.TB, url string) []string {
	t.Helper()
	out, err := output("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_data_hash", "crc32",
		"-show_entries", "packet=pts,data_hash", "-of", "compact=p=0", url)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`pts=-?\d+|CRC32:\w+`).FindAllString(out, -1)
}

// performance is all that is seen and heard.
type performance struct{ pictures, sound []string }

func perform(t testing.TB, pictures, sound string, heard bool) performance {
	t.Helper()
	p := performance{pictures: shown(t, pictures)}
	if heard {
		p.sound = played(t, sound)
	}
	return p
}

// check compares a stream with its video.
func (p performance) check(t testing.TB, name string, got performance) {
	t.Helper()
	if len(p.pictures) == 0 || !slices.Equal(got.pictures, p.pictures) {
		t.Errorf("%s shows %d frames, the video %d, or at other times:\n%v\n%v", name, len(got.pictures), len(p.pictures), got.pictures, p.pictures)
	}
	if !slices.Equal(got.sound, p.sound) {
		t.Errorf("%s has %d packets of audio, the video %d, or at other times:\n%v\n%v", name, len(got.sound)/2, len(p.sound)/2, got.sound, p.sound)
	}
}
