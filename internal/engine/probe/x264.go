package probe

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// x264Packets and x264Bytes bound where the name of the encoder is looked for: x264 writes
// it into its first frame, in front of the picture.
const (
	x264Packets = 64
	x264Bytes   = 8 << 10
)

var x264Name = regexp.MustCompile(`x264 - core ([0-9]{1,4})`)

// readX264 notes which version of x264 made a video with colour at full resolution. Versions
// before 151 wrote such pictures slightly wrong. ffmpeg knows how to read them, but it learns the
// version from the first frame only, so a decoder that starts in the middle needs an option for it.
func (f *Result) readX264(path string) error {
	s, err := f.Video()
	if err != nil || s.Codec != "h264" || !strings.Contains(s.PixelFormat, "444") && !strings.HasPrefix(s.PixelFormat, "gbr") {
		return nil // the plan reports the same error
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	f.X264 = x264Version(file, f.opening[:min(len(f.opening), x264Packets)])
	return nil
}

// x264Version looks for the version in the beginnings of packets; 0 means that none names it.
func x264Version(file io.ReaderAt, packets []video.Span) int {
	buf := make([]byte, x264Bytes)
	for _, p := range packets {
		if p.From < 0 || p.To <= p.From {
			continue
		}
		n, _ := file.ReadAt(buf[:min(p.To-p.From, x264Bytes)], p.From) // what cannot be read names nothing
		if m := x264Name.FindSubmatch(buf[:n]); m != nil {
			version, _ := strconv.Atoi(string(m[1])) // digits, and few of them
			return version
		}
	}
	return 0
}
