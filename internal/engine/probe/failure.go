package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// codecRefused is what libavcodec says of a decoder that is not allowed.
var codecRefused = regexp.MustCompile(`Codec \(([\w.-]{1,32})\) not on whitelist`)

// explainProbe turns the end of an ffprobe run into a *video.Failure where the
// file is to blame.
func explainProbe(err error, stderr, source string) error {
	if errors.Is(err, ffmpeg.ErrMemory) {
		return video.Failf(video.LimitMemory, "Reading this file takes more memory than a video may use.")
	}
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return ours
	}
	says := func(text string) bool { return strings.Contains(stderr, text) }
	refused := refusedDecoders(stderr)
	switch {
	case says("Input/output error"):
		// Demuxers report this for short files, the kernel for bad disks.
		if err := readThrough(source); err != nil {
			return fmt.Errorf("read source: %w", err)
		}
	case says("moov atom not found"):
		return video.Failf(video.Truncated, "The file ends before its index: the recording or the upload was cut off.")
	case says("Format not on whitelist"), says("Invalid argument"):
		return video.Failf(video.NotAVideo, "The file is not a video in a format that Spool accepts.")
	case len(refused) > 0:
		return unsupported(refused[0])
	}
	return video.Failf(video.Corrupt, "The file is damaged and could not be read as video.")
}

// refusedDecoders returns the names of the decoders that a run was not allowed
// to open.
func refusedDecoders(stderr string) []string {
	var names []string
	for _, m := range codecRefused.FindAllStringSubmatch(stderr, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

func unsupported(codec string) *video.Failure {
	return video.Failf(video.UnsupportedCodec, "The picture or the sound is stored in a format (%s) that cannot be decoded here.", codec)
}

// readThrough reads a file to its end.
func readThrough(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}
