package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// makeCaptions publishes the text tracks of a source.
func (w *Worker) makeCaptions(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	job, err := w.newJob(ctx, t, v, dir, nil)
	if err != nil {
		return err
	}
	run, report, stop := w.heartbeat(ctx, t)
	texts, err := w.engine.Captions(run, job, v.Plan, report)
	stop()
	if err != nil {
		return conversion(err)
	}
	var files []pipeline.NewFile
	for i, text := range captions.FromTracks(readTracks(v.Plan, texts)) {
		path := filepath.Join(dir, fmt.Sprintf("captions%d.vtt", i))
		if err := os.WriteFile(path, text.Content, 0o600); err != nil {
			return fmt.Errorf("write captions: %w", err)
		}
		files = append(files, pipeline.NewFile{File: text.File, Path: path})
	}
	if len(files) == 0 { // nothing could be read
		return w.Tasks.Skip(ctx, t)
	}
	return w.Tasks.PublishMissing(ctx, t, v, files)
}

// readTracks reads what ffmpeg made of text tracks, in the times of the video. What makes no sense is
// left out.
func readTracks(p *video.Plan, texts []encode.Text) []captions.Track {
	first := time.Duration(p.Input.TimeBase.Seconds(p.FirstPTS) * float64(time.Second))
	var tracks []captions.Track
	for _, text := range texts {
		cues, err := webvtt.ParseForgiving(withBlanks(text))
		if err != nil {
			continue
		}
		if text.Stream.Codec == "ass" || text.Stream.Codec == "ssa" {
			cues = withoutDrawings(cues)
		}
		tracks = append(tracks, captions.Track{Stream: text.Stream, Cues: webvtt.Shift(cues, -first, p.Duration)})
	}
	return tracks
}

// withBlanks returns a text in which ffmpeg has left blanks that must not break a line as ASS writes them. In
// a text that was copied these are two characters like any others.
func withBlanks(text encode.Text) []byte {
	if text.Copied {
		return text.Text
	}
	return bytes.ReplaceAll(text.Text, []byte(`\h`), []byte(" "))
}

// ASS draws signs and backgrounds with commands such as "m 0 0 l 100 0 100 100", which ffmpeg takes for text.
var (
	drawing = regexp.MustCompile(`^m( -?[0-9.]+){2}( [mnlbspc]| -?[0-9.]+)+$`)
	tag     = regexp.MustCompile(`<[^>]*>`)
)

// withoutDrawings removes the lines of cues that are drawn, and cues of which nothing is left.
func withoutDrawings(cues []webvtt.Cue) []webvtt.Cue {
	var out []webvtt.Cue
	for _, c := range cues {
		c.Lines = slices.DeleteFunc(slices.Clone(c.Lines), func(line string) bool {
			return drawing.MatchString(strings.Join(strings.Fields(tag.ReplaceAllString(line, "")), " "))
		})
		if len(c.Lines) > 0 {
			out = append(out, c)
		}
	}
	return out
}
