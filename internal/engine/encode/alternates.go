package encode

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// alternate is how a published JPEG is converted to another format. That is done when the video is ready, so
// that it delays nothing.
//
// docs/encoding.md has what the qualities save and cost on our test footage.
type alternate struct {
	format  video.PictureFormat
	quality int
}

var (
	// posterAlternates are beside a JPEG of quality 4.
	posterAlternates = []alternate{{video.AVIF, 26}, {video.WebP, 85}}
	// thumbnailAlternates are beside JPEGs of quality 3. SVT-AV1 repeats its sequence header for no later
	// frame, so that only the first picture of a run could become an AVIF.
	thumbnailAlternates = []alternate{{video.WebP, 89}}
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
	// minSaving is to how many tenths of the JPEG's bytes another format must come down. It is made of the
	// JPEG, and a little of that is lost.
	minSaving = 9
	// alternatesShare is the part of a video's pixels up to which more are made. Encoding a pixel of a
	// picture takes ten times as long as encoding one of a film, so this is about two percent of it.
	alternatesShare = 1.0 / 500
)

// Stills are published JPEGs of one size: the poster of a video, or the thumbnails of a rendition.
type Stills struct {
	Size   video.Rendition
	others []alternate
}

// PosterStills returns how the poster of a plan is made in other formats; false: in none.
func (enc *Encoder) PosterStills(p *video.Plan) (Stills, bool) {
	if p.Poster == nil {
		return Stills{}, false
	}
	poster := *p
	poster.Renditions = []video.Rendition{{Width: p.Poster.Width, Height: p.Poster.Height}}
	s := Stills{Size: poster.Renditions[0], others: enc.alternates(&poster, posterAlternates, 1)}
	return s, len(s.others) > 0
}

// ThumbnailStills returns how the thumbnails of some renditions of a plan are made in other formats;
// false: in none.
func (enc *Encoder) ThumbnailStills(p *video.Plan, renditions []int) (map[int]Stills, bool) {
	some := *p
	some.Renditions = nil
	for _, r := range renditions {
		some.Renditions = append(some.Renditions, p.Renditions[r])
	}
	others := enc.alternates(&some, thumbnailAlternates, len(p.Thumbnails))
	all := map[int]Stills{}
	for _, r := range renditions {
		all[r] = Stills{Size: p.Renditions[r], others: others}
	}
	return all, len(others) > 0
}

// alternates returns which of the formats are made of so many pictures of each rendition: none where they
// would cost too much of the encode, or where an encoder could fail.
func (enc *Encoder) alternates(p *video.Plan, wanted []alternate, shots int) []alternate {
	if shots == 0 || !worthAlternates(p, shots) {
		return nil
	}
	missing := func(a alternate) bool { return !enc.run.HasEncoder(alternateEncoders[a.format]) }
	return slices.DeleteFunc(slices.Clone(wanted), missing)
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

// stillPattern is the name of all JPEGs of a run, as ffmpeg writes numbers.
var stillPattern = strings.Replace(shotPath(0, 0), "s0", "s%d", 1)

// StillPath is where the JPEG number n must be that Alternates reads: in the folder of its outputs.
func StillPath(job ffmpeg.Job, n int) string { return filepath.Join(job.OutDir, shotPath(n, 0)) }

// Alternates converts JPEGs to other formats, and returns the files that are notably smaller than the JPEG,
// each smaller than the one before. Thumbnail is the number of the JPEG. What cannot be made is left out.
func (enc *Encoder) Alternates(ctx context.Context, job ffmpeg.Job, s Stills, shots int) ([]Output, error) {
	still := &video.Plan{Input: video.Input{CodedWidth: s.Size.Width, CodedHeight: s.Size.Height}, Renditions: []video.Rendition{s.Size}}
	still.Thumbnails = make([]video.Thumbnail, shots)
	ctx, cancel := enc.withDeadline(ctx, videoTime(still, time.Duration(shots)*time.Second))
	defer cancel()
	stderr, err := enc.run.Encode(ctx, job, enc.alternatePolicy(job, still, len(s.others)), alternateArgs(s, shots), func(float64) {})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return nil, fmt.Errorf("pictures in other formats: %w", ours)
	}
	var all []Output
	for n := range shots {
		made, err := smallerThanJPEG(job, n, s)
		if err != nil {
			return nil, fmt.Errorf("pictures in other formats: %w", err)
		}
		all = append(all, made...)
	}
	return all, nil
}

// alternatePolicy allows a run to read JPEGs and to write them in other formats, into the same folder.
func (enc *Encoder) alternatePolicy(job ffmpeg.Job, p *video.Plan, formats int) sandbox.Policy {
	may := enc.thumbnailPolicy(job, p)
	may.Threads = ffmpeg.MaxThreads(1 + formats)
	may.Files += (1 + formats) * len(p.Thumbnails)
	may.Space *= int64(1 + formats)
	return may
}

// alternateArgs makes all formats of a few JPEGs in one run. Both WebP and AVIF get the colours of BT.601
// in limited range: WebP has no others.
func alternateArgs(s Stills, shots int) []string {
	args := slices.Concat(pictureArgs, []string{
		"-protocol_whitelist", "file", "-format_whitelist", "image2", "-codec_whitelist", "mjpeg", "-threads", "1",
		"-f", "image2", "-framerate", "1", "-start_number", "0", "-i", "file:" + stillPattern,
	})
	var g strings.Builder
	fmt.Fprintf(&g, "[0:v:0]scale=in_range=pc:in_color_matrix=bt601:out_range=tv:out_color_matrix=bt601,"+
		"format=yuv420p,setparams=range=tv:colorspace=smpte170m:color_primaries=bt709:color_trc=iec61966-2-1,setsar=1,split=%d", len(s.others))
	for _, a := range s.others {
		fmt.Fprintf(&g, "[%s]", a.format)
	}
	args = append(args, "-filter_complex", g.String())
	for _, a := range s.others {
		args = append(args, a.args(shots)...)
	}
	return args
}

// args are the options of the output in one format.
func (a alternate) args(shots int) []string {
	args := []string{"-map", "[" + string(a.format) + "]", "-frames:v", strconv.Itoa(shots), "-fps_mode", "passthrough", "-c:v", alternateEncoders[a.format]}
	switch a.format {
	case video.AVIF:
		// Without a global header the decoder's settings in the file are empty, which Chromium refuses.
		args = append(args, "-preset", "12", "-crf", strconv.Itoa(a.quality), "-g", "1", "-svtav1-params", "lp=1", "-flags", "+bitexact+global_header")
	case video.WebP:
		args = append(args, "-compression_level", "4", "-q:v", strconv.Itoa(a.quality), "-flags", "+bitexact")
	}
	args = append(args, ffmpeg.NoMetadata...)
	return append(args, "-f", "image2", "-start_number", "0", "file:"+video.AlternateFile(stillPattern, a.format))
}

// smallerThanJPEG returns the files that are notably smaller than a JPEG in other formats. The largest file comes
// first, and each must be smaller than the one before.
func smallerThanJPEG(job ffmpeg.Job, n int, s Stills) ([]Output, error) {
	jpeg, err := os.Stat(StillPath(job, n))
	if err != nil {
		return nil, err
	}
	smallest := jpeg.Size() / 10 * minSaving
	var all []Output
	for _, a := range slices.Backward(s.others) { // the format with the larger files comes last
		path := video.AlternateFile(StillPath(job, n), a.format)
		size, err := checkAlternate(path, a.format, smallest)
		if err != nil {
			return nil, err
		}
		if size > 0 {
			smallest = size
			all = append(all, Output{Path: path, Thumbnail: n, Format: a.format, Frames: 1, Size: size})
		}
	}
	return all, nil
}

// checkAlternate returns the size of a file that has a format and fewer bytes than most, or 0.
func checkAlternate(path string, f video.PictureFormat, most int64) (int64, error) {
	in, size, err := openOutput(path, "a picture", maxAlternateFile)
	if in == nil {
		return 0, err
	}
	defer in.Close()
	head := make([]byte, min(size, 1024))
	if _, err := io.ReadFull(in, head); err != nil || size >= most || size < 12 {
		return 0, nil // nothing in it, or nothing won
	}
	if f == video.AVIF && string(head[4:12]) == "ftypavif" && isConfigured(head) || f == video.WebP && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return size, nil
	}
	return 0, nil
}

// isConfigured reports whether an AVIF tells how to set up the decoder: its box av1C is not empty.
func isConfigured(head []byte) bool {
	box := bytes.Index(head, []byte("av1C"))
	return box >= 4 && binary.BigEndian.Uint32(head[box-4:]) >= 8+4
}

// maxAlternateFile is the largest file that is looked at.
const maxAlternateFile = 256 << 20
