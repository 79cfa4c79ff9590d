package encode

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// alternate is how a picture is made in another format than JPEG, in the run that makes the JPEG.
//
// The qualities are those with which the pictures of our test footage have at least the SSIM of the
// JPEG; docs/encoding.md has the figures.
type alternate struct {
	format  video.PictureFormat
	quality int
	frames  int // of a batch, from the first; 0: all
}

var (
	// posterAlternates are beside a JPEG of quality 4. SVT-AV1 repeats its sequence header for no later
	// frame, so that only the first one becomes an AVIF; more are not needed.
	posterAlternates = []alternate{{video.AVIF, 26, 1}, {video.WebP, 85, 1}}
	// thumbnailAlternates are beside JPEGs of quality 3.
	thumbnailAlternates = []alternate{{video.WebP, 89, 0}}
)

// alternateEncoders are the encoders of ffmpeg that make each format.
var alternateEncoders = map[video.PictureFormat]string{video.AVIF: "libsvtav1", video.WebP: "libwebp"}

// PictureFormats returns the formats beside JPEG that this ffmpeg can make.
func (enc *Encoder) PictureFormats() []video.PictureFormat {
	var all []video.PictureFormat
	for _, f := range video.PictureFormats {
		if enc.run.HasEncoder(alternateEncoders[f]) {
			all = append(all, f)
		}
	}
	return all
}

const (
	// minAlternate and maxAlternate are the sides that all encoders take.
	minAlternate, maxAlternate = 64, 8192
	// cheapAlternates is how many pixels are always made in other formats: about 0.3 s of processor time.
	cheapAlternates = 3 << 20
	// alternatesShare is the part of a video's pixels up to which more are made. Encoding a pixel of a
	// picture takes ten times as long as encoding one of a film, so this is about two percent of it.
	alternatesShare = 1.0 / 500
)

// alternates returns which of the formats are made of a plan's thumbnails: none where they would cost
// too much of the encode, or where an encoder could fail.
func (enc *Encoder) alternates(p *video.Plan, wanted []alternate) []alternate {
	var all []alternate
	for _, a := range wanted {
		shots := len(p.Thumbnails)
		if a.frames > 0 {
			shots = min(shots, a.frames)
		}
		if worthAlternates(p, shots) && enc.run.HasEncoder(alternateEncoders[a.format]) {
			all = append(all, a)
		}
	}
	return all
}

// worthAlternates reports whether so many pictures of each rendition cost little enough.
func worthAlternates(p *video.Plan, shots int) bool {
	pixels := 0.0
	for _, r := range p.Renditions {
		if min(r.Width, r.Height) < minAlternate || max(r.Width, r.Height) > maxAlternate {
			return false
		}
		pixels += float64(r.Width) * float64(r.Height)
	}
	made := pixels * float64(shots)
	return made <= cheapAlternates || made <= alternatesShare*pixels*float64(p.Frames)
}

// alternateGraph divides each output [v0], [v1] … of a graph of JPEGs into one for the JPEG and one for
// each other format. Both WebP and AVIF get the colours of BT.601 in limited range: WebP has no others.
func alternateGraph(p *video.Plan, others []alternate) string {
	var g strings.Builder
	for r := range p.Renditions {
		fmt.Fprintf(&g, ";[v%[1]d]split[j%[1]d][x%[1]d];[x%[1]d]scale=in_range=pc:in_color_matrix=bt601:out_range=tv:out_color_matrix=bt601,"+
			"format=yuv420p,setparams=range=tv:colorspace=smpte170m:color_primaries=bt709:color_trc=iec61966-2-1,split=%[2]d", r, len(others))
		for _, a := range others {
			fmt.Fprintf(&g, "[%s%d]", a.format, r)
		}
	}
	return g.String()
}

// args are the options of the output of one rendition.
func (a alternate) args(rendition, shots int) []string {
	if a.frames > 0 {
		shots = min(shots, a.frames)
	}
	args := []string{"-map", fmt.Sprintf("[%s%d]", a.format, rendition), "-frames:v", strconv.Itoa(shots), "-fps_mode", "passthrough", "-c:v", alternateEncoders[a.format]}
	switch a.format {
	case video.AVIF:
		args = append(args, "-preset", "12", "-crf", strconv.Itoa(a.quality), "-g", "1", "-svtav1-params", "lp=1")
	case video.WebP:
		args = append(args, "-compression_level", "4", "-q:v", strconv.Itoa(a.quality))
	}
	args = append(append(args, "-flags", "+bitexact"), ffmpeg.NoMetadata...)
	return append(args, "-f", "image2", "-start_number", "0", "file:"+video.AlternateFile(shotPattern(rendition), a.format))
}

// collectAlternates copies a shot in the formats in which it is smaller than the JPEG of size bytes, and
// than those before. It returns the largest file first.
func collectAlternates(job ffmpeg.Job, shot int, jpeg Output, others []alternate) ([]Output, error) {
	smallest := jpeg.Size
	var all []Output
	for i := len(others) - 1; i >= 0; i-- { // the format with the larger files comes last
		f := others[i].format
		from := filepath.Join(job.OutDir, video.AlternateFile(shotPath(shot, jpeg.Rendition), f))
		if good, err := checkAlternate(from, f, smallest); err != nil || !good {
			if err != nil {
				return nil, err
			}
			continue
		}
		o := jpeg
		o.Format, o.Path = f, video.AlternateFile(jpeg.Path, f)
		var err error
		if o.Size, err = copyFile(o.Path, from); err != nil {
			return nil, err
		}
		smallest = o.Size
		all = append(all, o)
	}
	return all, nil
}

// checkAlternate reports whether a file has a format and fewer bytes than most.
func checkAlternate(path string, f video.PictureFormat, most int64) (bool, error) {
	in, size, err := openOutput(path, "a picture", maxAlternateFile)
	if in == nil {
		return false, err
	}
	defer in.Close()
	head := make([]byte, 12)
	if _, err := io.ReadFull(in, head); err != nil || size >= most {
		return false, nil // nothing in it, or nothing won
	}
	if f == video.AVIF {
		return string(head[4:12]) == "ftypavif", nil
	}
	return bytes.HasPrefix(head, []byte("RIFF")) && string(head[8:]) == "WEBP", nil
}

// maxAlternateFile is the largest file that is looked at.
const maxAlternateFile = 256 << 20
