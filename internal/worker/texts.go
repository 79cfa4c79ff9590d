package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	programs "github.com/spool-video/spool/internal/engine/speech"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/video"
)

// maxTextTries is how often a program is tried that fails for a reason that is not known.
const maxTextTries = 3

// makeTexts makes the texts of a video, one after the other, until none is wanted any more.
func (w *Worker) makeTexts(ctx context.Context, t queue.Task, _ video.Video, dir string) error {
	for n := 0; ; n++ {
		v, wanted, number, open, err := w.Speech.Next(ctx, t.Video)
		if err != nil {
			return err
		}
		if !open {
			if ended, err := w.Tasks.FinishTexts(ctx, t); err != nil || ended {
				return err
			}
			continue
		}
		work := filepath.Join(dir, strconv.Itoa(n))
		text, err := w.makeText(ctx, t, v, wanted, number, work)
		if err == nil && len(text.Cues) == 0 && number >= 0 {
			err = fmt.Errorf("%w: it is empty", programs.ErrOutput)
		}
		switch f, isFinal := w.textFailure(ctx, t, err); {
		case err == nil:
			err = w.Speech.Publish(ctx, speech.Made{Task: t, Wanted: wanted, Number: number, Language: text.Language, Cues: webvtt.Shift(text.Cues, 0, v.Duration)})
		case isFinal:
			err = w.Speech.Fail(ctx, t, wanted, number, f)
		}
		if err != nil {
			return err
		}
		if err := os.RemoveAll(work); err != nil {
			return scratchError{err}
		}
	}
}

// textFailure says why a text cannot be made. It reports false if it may be tried again.
func (w *Worker) textFailure(ctx context.Context, t queue.Task, err error) (f *video.Failure, isFinal bool) {
	if err == nil || ctx.Err() != nil {
		return nil, false
	}
	if f, ok := errors.AsType[*video.Failure](err); ok {
		return f, true
	}
	if transient(err) && !errors.Is(err, errProgram) {
		return nil, false
	}
	if t.Attempt < maxTextTries && !errors.Is(err, programs.ErrTimeout) && !errors.Is(err, programs.ErrLimit) && !errors.Is(err, programs.ErrOutput) {
		return nil, false
	}
	w.log.WarnContext(ctx, "a text could not be made", "task", t.String(), "err", err)
	switch {
	case errors.Is(err, programs.ErrTimeout):
		return video.Failf(video.LimitTime, "The program took longer than it may."), true
	case errors.Is(err, programs.ErrLimit):
		return video.Failf(video.LimitMemory, "The program used more memory, threads or disk space than it may."), true
	case errors.Is(err, programs.ErrOutput):
		return video.Failf(video.ProgramError, "What the program wrote is no captions."), true
	}
	return video.Failf(video.ProgramError, "The program failed several times. The server's log has its last words."), true
}

// errProgram marks errors of the operator's programs, which are tried again a few times only.
var errProgram = errors.New("the program failed")

// makeText makes one text in a new folder.
func (w *Worker) makeText(ctx context.Context, t queue.Task, v video.Video, m video.MadeText, number int, dir string) (programs.Text, error) {
	out := filepath.Join(dir, "text")
	for _, d := range []string{dir, out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return programs.Text{}, scratchError{err}
		}
	}
	if number >= 0 {
		return w.translate(ctx, v, m, dir, out)
	}
	if !w.Programs.Transcribes() {
		return programs.Text{}, video.Failf(video.NoProgram, "This server has no transcriber any more.")
	}
	job, err := w.pictureJob(ctx, t, v, filepath.Join(dir, "sound"))
	if err != nil {
		return programs.Text{}, err
	}
	job.Source = filepath.Join(dir, "film.mp4")
	if err := w.Files.FetchSmallRendition(ctx, v, job.Source); errors.Is(err, fs.ErrNotExist) {
		return programs.Text{}, video.Failf(video.NoSound, "The video has no files any more.")
	} else if err != nil {
		return programs.Text{}, err
	}
	audio, err := w.engine.Speech(ctx, job, v.Duration)
	if errors.Is(err, encode.ErrNoAudio) {
		return programs.Text{}, video.Failf(video.NoSound, "The video has no sound.")
	} else if err != nil {
		return programs.Text{}, conversion(err)
	}
	text, err := w.Programs.Transcribe(ctx, audio, out, m.Language)
	if m.Language != "" { // what was asked for, whatever the program says
		text.Language = m.Language
	}
	return text, programFailure(err)
}

func programFailure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errProgram, err)
}

// translate makes a translation of captions.
func (w *Worker) translate(ctx context.Context, v video.Video, m video.MadeText, dir, out string) (programs.Text, error) {
	if !w.Programs.Translates() {
		return programs.Text{}, video.Failf(video.NoProgram, "This server has no translator any more.")
	}
	source, has := speech.Source(v, m)
	input := filepath.Join(dir, "input.vtt")
	if has {
		err := w.Files.FetchPublished(ctx, v, source.Name, input)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return programs.Text{}, err
		}
		has = err == nil
	}
	if !has {
		return programs.Text{}, video.Failf(video.NoCaptions, "There are no captions to translate.")
	}
	text, err := w.Programs.Translate(ctx, input, out, source.Language, m.Language)
	text.Language = m.Language
	return text, programFailure(err)
}
