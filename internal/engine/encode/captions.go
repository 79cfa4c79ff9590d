package encode

import (
	"bytes"
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
	switch {
	case mayCopy && copies(p, t) && t.Codec == "webvtt":
		return "copy", "webvtt"
	case mayCopy && copies(p, t):
		return "copy", "srt"
	case t.Codec == "mov_text":
		return "subrip", "srt"
	}
	return "webvtt", "webvtt"
}

// copies reports whether a track can be copied.
func copies(p *video.Plan, t video.Stream) bool {
	return strings.HasPrefix(p.Input.Container, "matroska,") && slices.Contains([]string{"webvtt", "subrip", "srt"}, t.Codec)
}

// Text is a text track as WebVTT or SubRip, in the times of the source.
type Text struct {
	Stream video.Stream
	Text   []byte
	Copied bool // the source's text, which was not converted to ASS in between
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
	ok, err := enc.convertTexts(ctx, job, p, tracks, true, progress)
	if err != nil {
		return nil, err
	}
	converted := map[int]bool{}
	texts, missing, err := readTexts(job, p, tracks, converted)
	if err != nil || ok { // what a good run made nothing of is empty
		return texts, err
	}
	for _, t := range missing { // a track that cannot be opened stops all the others, so each runs alone
		if converted[t.Index], err = enc.convertAlone(ctx, job, p, t, progress); err != nil {
			return nil, err
		}
	}
	texts, _, err = readTexts(job, p, tracks, converted)
	return texts, err
}

// convertTexts reads the source once. It is ok if ffmpeg had nothing to complain about; the error is one of the machine.
func (enc *Encoder) convertTexts(ctx context.Context, job ffmpeg.Job, p *video.Plan, tracks []video.Stream, mayCopy bool, progress ffmpeg.Progress) (ok bool, err error) {
	stderr, err := enc.run.Encode(ctx, job, enc.captionsPolicy(job, p, len(tracks)), captionsArgs(job, p, tracks, mayCopy), func(at float64) {
		progress.Report(at / p.Duration.Seconds())
	})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return false, fmt.Errorf("read captions: %w", ours)
	}
	return err == nil, nil
}

// convertAlone reads one track, and says whether it had to be converted because it could not be copied.
func (enc *Encoder) convertAlone(ctx context.Context, job ffmpeg.Job, p *video.Plan, t video.Stream, progress ffmpeg.Progress) (converted bool, err error) {
	if copies(p, t) {
		ok, err := enc.convertTexts(ctx, job, p, []video.Stream{t}, true, progress)
		if err != nil || ok {
			return false, err
		}
		if some, _, err := readTexts(job, p, []video.Stream{t}, nil); err != nil || len(some) > 0 {
			return false, err // the source is damaged behind it
		}
	}
	_, err = enc.convertTexts(ctx, job, p, []video.Stream{t}, false, progress)
	return true, err
}

// readTexts reads what was made of some tracks, and says of which nothing was made: a file without a cue, too, may be
// what a run left that failed. Tracks are given by their index that could not be copied.
func readTexts(job ffmpeg.Job, p *video.Plan, tracks []video.Stream, converted map[int]bool) (texts []Text, missing []video.Stream, err error) {
	for _, t := range tracks {
		text, err := os.ReadFile(textPath(job, t.Index))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read captions: %w", err)
		}
		if !bytes.Contains(text, []byte("-->")) {
			missing = append(missing, t)
			continue
		}
		texts = append(texts, Text{Stream: t, Text: text, Copied: copies(p, t) && !converted[t.Index]})
	}
	return texts, missing, nil
}

// captionsPolicy allows a run to write texts.
func (enc *Encoder) captionsPolicy(job ffmpeg.Job, p *video.Plan, tracks int) sandbox.Policy {
	may := enc.encodePolicy(job, p, p.Duration)
	may.FileSize, may.Space, may.Files = maxTextFile, int64(tracks+1)*maxTextFile, baseFiles+tracks
	return may
}
