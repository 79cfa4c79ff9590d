package encode

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	maxPreview  = 1_000_000 // bytes
	previewRate = 8         // frames a second
	// A film that is longer than shortFilm is shown in pieces, a shorter one from its beginning.
	shortFilm   = 8 * time.Second
	pieceLength = 800 * time.Millisecond
	shortLength = 3 * time.Second
)

// previewPlaces are the parts of a film where its preview has a piece.
var previewPlaces = []float64{0.1, 0.35, 0.6, 0.85}

// previewTries are what a preview is tried with until it is small enough. Few films need the second.
var previewTries = []struct{ side, quality int }{{480, 60}, {320, 45}, {240, 25}}

// preview makes a short animation of a film.
func (m pictureMaker) preview(ctx context.Context) (string, error) {
	path := m.path(video.PreviewFile)
	for _, try := range previewTries {
		if err := m.run(ctx, m.previewArgs(try.side, try.quality)); err != nil {
			return "", err
		}
		if fits, err := isPreview(path); err != nil || fits {
			return path, err
		}
	}
	return "", nil
}

func (m pictureMaker) previewArgs(side, quality int) []string {
	args := slices.Clone(pictureArgs)
	starts, length := m.pieces()
	var g strings.Builder
	for i, start := range starts {
		var options []string
		if start > 0 { // half a millisecond behind the keyframe, so that rounding cannot land on the one before
			options = append(options, "-noaccurate_seek", "-ss", fmt.Sprintf("%.6f", start.Seconds()+0.0005))
		}
		args = append(args, m.input(append(options, "-t", fmt.Sprintf("%.3f", length.Seconds()))...)...)
		fmt.Fprintf(&g, "[%d:v:0]", i)
	}
	width, height := m.fit(side)
	// WebP has the colours of BT.601, without saying so.
	fmt.Fprintf(&g, "concat=n=%d:v=1:a=0,fps=%d:eof_action=pass,scale=%d:%d:flags=bicubic:out_range=tv:out_color_matrix=bt601,format=yuv420p,setsar=1[p]",
		len(starts), previewRate, width, height)
	return append(args, "-filter_complex", g.String(), "-map", "[p]", "-c:v", "libwebp_anim", "-q:v", strconv.Itoa(quality),
		"-compression_level", "2", "-loop", "0", "-threads", "1", "-flags", "+bitexact", "-map_metadata", "-1", "-f", "webp", "file:"+video.PreviewFile)
}

// pieces returns where the pieces of a preview begin, at keyframes, and how long they are.
func (m pictureMaker) pieces() (starts []time.Duration, length time.Duration) {
	if m.keys.End <= shortFilm {
		return []time.Duration{0}, shortLength
	}
	for _, part := range previewPlaces {
		at := m.before(time.Duration(part * float64(m.keys.End)))
		if !slices.Contains(starts, at) {
			starts = append(starts, at)
		}
	}
	return starts, pieceLength
}

// isPreview reports whether a file is WebP that is small enough.
func isPreview(path string) (bool, error) {
	file, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return len(file) <= maxPreview && len(file) > 20 && bytes.HasPrefix(file, []byte("RIFF")) && string(file[8:12]) == "WEBP", nil
}
