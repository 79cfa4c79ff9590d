package encode

import (
	"context"
	"fmt"
	"image/jpeg"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	maxStoryboard = 200 // pictures of a film
	tileSide      = 160 // of the longer side of a picture, in pixels
	sheetSide     = 10  // pictures in a row, and rows, of a sprite
	spriteQuality = 5   // of ffmpeg's JPEG encoder
)

// sheet is how the pictures of a storyboard are laid out.
type sheet struct {
	width, height int // of a picture
	columns, rows int
	every         int             // how many keyframes there are for a picture
	at            []time.Duration // when each picture is shown
	end           time.Duration   // of the film
}

// layOut decides which keyframes become pictures, and where they go.
func (m pictureMaker) layOut() sheet {
	s := sheet{every: (len(m.keys.At) + maxStoryboard - 1) / maxStoryboard, end: m.keys.End}
	s.width, s.height = m.fit(tileSide)
	for i := 0; i < len(m.keys.At); i += s.every {
		s.at = append(s.at, m.keys.At[i])
	}
	s.columns = min(len(s.at), sheetSide)
	s.rows = min((len(s.at)+s.columns-1)/s.columns, sheetSide)
	return s
}

// sheets is how many sprites there are.
func (s sheet) sheets() int { return (len(s.at) + s.columns*s.rows - 1) / (s.columns * s.rows) }

// storyboard makes the sprites of a film and the WebVTT that names them.
func (m pictureMaker) storyboard(ctx context.Context) (path string, sprites []string, err error) {
	s := m.layOut()
	if err := m.run(ctx, m.spriteArgs(s)); err != nil {
		return "", nil, err
	}
	for i := range s.sheets() {
		sprite := m.path(video.SpriteFile(i))
		if !isSprite(sprite, s) {
			return "", nil, nil
		}
		sprites = append(sprites, sprite)
	}
	path = m.path(video.StoryboardFile)
	return path, sprites, os.WriteFile(path, []byte(s.webVTT()), 0o600)
}

// spriteArgs decodes nothing but keyframes.
func (m pictureMaker) spriteArgs(s sheet) []string {
	filters := []string{
		"select=key", fmt.Sprintf("select='not(mod(n,%d))'", s.every),
		fmt.Sprintf("scale=%d:%d:flags=bicubic:out_range=pc:out_color_matrix=bt601", s.width, s.height), "format=yuvj420p", "setsar=1",
		fmt.Sprintf("tile=%dx%d", s.columns, s.rows),
	}
	return slices.Concat(pictureArgs, m.input("-skip_frame", "nokey"), []string{
		"-map", "0:v:0", "-vf", strings.Join(filters, ","), "-frames:v", strconv.Itoa(s.sheets()), "-fps_mode", "passthrough",
		"-c:v", "mjpeg", "-q:v", strconv.Itoa(spriteQuality), "-flags", "+bitexact", "-map_metadata", "-1",
		"-f", "image2", "-start_number", "0", "file:" + strings.Replace(video.SpriteFile(0), "0", "%d", 1),
	})
}

// isSprite reports whether ffmpeg has made a sprite as it should.
func isSprite(path string, s sheet) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	c, err := jpeg.DecodeConfig(f)
	return err == nil && c.Width == s.columns*s.width && c.Height == s.rows*s.height
}

// webVTT names the place of each picture. The names are relative, so that they work behind every
// address of the file itself.
func (s sheet) webVTT() string {
	var b strings.Builder
	b.WriteString("WEBVTT\n")
	for i := range s.at {
		from, to := s.at[i], s.end
		if i == 0 {
			from = 0
		}
		if i+1 < len(s.at) {
			to = s.at[i+1]
		}
		to = max(to, from+time.Millisecond)
		n := i % (s.columns * s.rows)
		fmt.Fprintf(&b, "\n%s --> %s\n%s#xywh=%d,%d,%d,%d\n", cueTime(from), cueTime(to),
			video.SpriteFile(i/(s.columns*s.rows)), n%s.columns*s.width, n/s.columns*s.height, s.width, s.height)
	}
	return b.String()
}

// cueTime writes a time as WebVTT wants it.
func cueTime(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}
