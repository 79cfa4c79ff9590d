package still

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxPixels is the largest picture that is decoded. Phones make pictures of 50 megapixels.
	MaxPixels = 64_000_000
	// maxWidth and maxHeight are the size to which larger pictures are reduced, as posters are.
	maxWidth, maxHeight = 1280, 2560
)

// RefusedError is a picture that cannot be used. Its text is for the person who sent it.
type RefusedError struct {
	Reason string
	err    error // for the log; may be nil
}

func (e *RefusedError) Error() string { return e.Reason }
func (e *RefusedError) Unwrap() error { return e.err }

// kind is a format that clients may send, and how ffmpeg opens it. Nothing but the named demuxer and decoders can be
// reached by what is in the file.
type kind struct {
	name     string
	is       func(file []byte) bool
	demuxer  string
	decoders string
	alpha    bool
	rewrite  func(file []byte) (out []byte, turn string, err error) // before ffmpeg opens it; nil: it stays
}

var kinds = []kind{
	{name: "JPEG", is: hasPrefix("\xff\xd8\xff"), demuxer: "jpeg_pipe", decoders: "mjpeg"},
	{name: "PNG", is: hasPrefix("\x89PNG\r\n\x1a\n"), demuxer: "png_pipe", decoders: "png", alpha: true},
	{name: "WebP", is: isWebP, demuxer: "webp_pipe", decoders: "webp", alpha: true},
	{name: "AVIF", is: isAVIF, demuxer: "ivf", decoders: "libdav1d,libaom-av1,av1", rewrite: unwrapAVIF},
}

func hasPrefix(prefix string) func([]byte) bool {
	return func(file []byte) bool { return strings.HasPrefix(string(file[:min(len(file), len(prefix))]), prefix) }
}

func isWebP(file []byte) bool {
	return len(file) > 12 && string(file[:4]) == "RIFF" && string(file[8:12]) == "WEBP"
}

// Converted is a picture that a client sent, as a JPEG or PNG that ffmpeg has written.
type Converted struct {
	Path          string
	Width, Height int
}

// Convert makes a JPEG of a picture in any of the formats, upright and not larger than a poster. The error is a
// *RefusedError if the picture is to blame.
func (m *Maker) Convert(ctx context.Context, job ffmpeg.Job, file []byte) (Converted, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.is(file) })
	if i < 0 {
		return Converted{}, &RefusedError{Reason: "The file is no JPEG, PNG, WebP or AVIF."}
	}
	k, turn := kinds[i], ""
	if k.rewrite != nil {
		var err error
		if file, turn, err = k.rewrite(file); err != nil {
			return Converted{}, err
		}
	}
	return m.convert(ctx, job, k, file, turn+k.posterFilters(), "", MaxPixels)
}

// convert has ffmpeg decode a file with at most so many pixels.
func (m *Maker) convert(ctx context.Context, job ffmpeg.Job, k kind, file []byte, filters string, to video.PictureFormat, pixels int) (Converted, error) {
	if err := os.WriteFile(job.Source, file, 0o600); err != nil {
		return Converted{}, fmt.Errorf("store a picture for ffmpeg: %w", err)
	}
	if err := m.encode(ctx, job, policy(job, MaxPixels/4), k.args(job, filters, to, pixels)); err != nil {
		return Converted{}, k.refused(ctx, err, pixels)
	}
	c := Converted{Path: filepath.Join(job.OutDir, outputName(to))}
	var err error
	if c.Width, c.Height, err = sizeOf(c.Path); err != nil { // ffmpeg ends well with nothing decoded, too
		return Converted{}, k.damaged(err)
	}
	return c, nil
}

func (k kind) damaged(err error) error {
	return &RefusedError{fmt.Sprintf("The %s is damaged or of an unusual sort, and could not be decoded.", k.name), err}
}

// refused turns the error of a run into one of the picture, unless the machine is to blame.
func (k kind) refused(ctx context.Context, err error, pixels int) error {
	failed, ended := errors.AsType[*failedError](err)
	switch {
	case ctx.Err() != nil:
		return err
	case ended && strings.Contains(failed.stderr, "Picture size"):
		return &RefusedError{fmt.Sprintf("The picture has more than %d megapixels.", pixels/1_000_000), err}
	case ended:
		return k.damaged(err)
	}
	for _, limit := range []error{ffmpeg.ErrTimeLimit, ffmpeg.ErrMemory, ffmpeg.ErrTooBig, ffmpeg.ErrThreads, ffmpeg.ErrCrashed, ffmpeg.ErrStalled} {
		if errors.Is(err, limit) {
			return &RefusedError{fmt.Sprintf("Decoding the %s takes too much time or memory.", k.name), err}
		}
	}
	return fmt.Errorf("convert a picture: %w", err)
}

// posterFilters make a picture as large as a poster.
func (k kind) posterFilters() string {
	filters := fmt.Sprintf("scale=w='min(%d,iw)':h='min(%d,ih)':force_original_aspect_ratio=decrease:flags=bicubic", maxWidth, maxHeight)
	if k.alpha { // what is transparent becomes black
		filters += ",format=rgba,premultiply=inplace=1"
	}
	return filters + ",scale=out_range=pc:out_color_matrix=bt601,format=yuvj420p,setsar=1"
}

func (k kind) args(job ffmpeg.Job, filters string, to video.PictureFormat, pixels int) []string {
	args := slices.Concat(ffmpeg.RunArgs(), []string{
		"-filter_complex_threads", "1", "-protocol_whitelist", "file", "-format_whitelist", k.demuxer, "-codec_whitelist", k.decoders,
		"-max_pixels", strconv.Itoa(pixels), "-threads", "1", "-f", k.demuxer, "-i", ffmpeg.FileURL(job.Source),
		"-filter_complex", "[0:v:0]" + filters + "[out]", "-map", "[out]", "-frames:v", "1",
	})
	return append(args, output(to)...)
}
