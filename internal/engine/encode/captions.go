package encode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// maxTextFile is how many bytes one text track may become. Longer ones are no text.
const maxTextFile = 8 << 20

func textPath(job ffmpeg.Job, stream int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("text%d.vtt", stream))
}

// captionsArgs writes text tracks as WebVTT or SubRip, in the times of the source.
func captionsArgs(job ffmpeg.Job, p *video.Plan, tracks []video.Stream, mayCopy bool) []string {
	args := ffmpeg.CommonArgs(job, p.Input, video.NoSeek, 1)
	for _, t := range tracks {
		encoder, muxer := textFormat(p, t, mayCopy)
		args = append(args, "-map", fmt.Sprintf("0:%d", t.Index), "-c:s", encoder, "-map_metadata", "-1", "-map_chapters", "-1",
			"-avoid_negative_ts", "disabled", "-f", muxer, ffmpeg.FileURL(textPath(job, t.Index)))
	}
	return args
}

// textFormat returns how a track is written. Text that Matroska has as WebVTT or SubRip is copied: ffmpeg would
// turn &lt; into a < that looks like a tag, and take a < b for one. Of the others, WebVTT is written without escapes, too;
// in SubRip, a character that begins no tag stands for itself. But there, ASS and closed captions would all be moved to
// the upper edge.
func textFormat(p *video.Plan, t video.Stream, mayCopy bool) (encoder, muxer string) {
	copies := mayCopy && strings.HasPrefix(p.Input.Container, "matroska,")
	switch {
	case copies && t.Codec == "webvtt":
		return "copy", "webvtt"
	case copies && (t.Codec == "subrip" || t.Codec == "srt"):
		return "copy", "srt"
	case t.Codec == "mov_text":
		return "subrip", "srt"
	}
	return "webvtt", "webvtt"
}

// Text is a text track as WebVTT or SubRip, in the times of the source.
type Text struct {
	Stream video.Stream
	Text   []byte
}

// Captions converts the text tracks of a source, and the closed captions of a broadcast. What cannot
// be read is left out.
func (enc *Encoder) Captions(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) ([]Text, error) {
	ctx, cancel := enc.withDeadline(ctx, audioTime(p, job.Source)+videoTime(p, p.Duration))
	defer cancel()
	texts, err := enc.textTracks(ctx, job, p, progress)
	if err != nil || !p.MayHaveClosedCaptions() {
		return texts, err
	}
	closed, err := enc.closedCaptions(ctx, job, p, progress)
	if err != nil || closed == nil {
		return texts, err
	}
	return append(texts, *closed), nil
}

// textTracks converts the text tracks of a source.
func (enc *Encoder) textTracks(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) ([]Text, error) {
	tracks := p.TextTracks()
	if len(tracks) == 0 {
		return nil, nil
	}
	convert := func(some []video.Stream, mayCopy bool) error {
		stderr, err := enc.run.Encode(ctx, job, enc.captionsPolicy(job, p, len(some)), captionsArgs(job, p, some, mayCopy), func(at float64) {
			progress.Report(at / p.Duration.Seconds())
		})
		if ours := ffmpeg.MachineError(err, stderr); ours != nil {
			return fmt.Errorf("read captions: %w", ours)
		}
		return nil
	}
	if err := convert(tracks, true); err != nil {
		return nil, err
	}
	texts, missing, err := readTexts(job, tracks)
	if err != nil || len(missing) == 0 {
		return texts, err
	}
	for _, t := range missing { // one that cannot be opened stops all the others
		if err := convert([]video.Stream{t}, false); err != nil {
			return nil, err
		}
	}
	texts, _, err = readTexts(job, tracks)
	return texts, err
}

// readTexts reads what was made of some tracks, and says of which nothing was made.
func readTexts(job ffmpeg.Job, tracks []video.Stream) (texts []Text, missing []video.Stream, err error) {
	for _, t := range tracks {
		text, err := os.ReadFile(textPath(job, t.Index))
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
			missing = append(missing, t)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read captions: %w", err)
		}
		texts = append(texts, Text{Stream: t, Text: text})
	}
	return texts, slices.Clip(missing), nil
}

// captionsPolicy allows a run to write texts.
func (enc *Encoder) captionsPolicy(job ffmpeg.Job, p *video.Plan, tracks int) sandbox.Policy {
	may := enc.encodePolicy(job, p, p.Duration)
	may.FileSize, may.Space, may.Files = maxTextFile, int64(tracks+1)*maxTextFile, baseFiles+tracks
	return may
}
