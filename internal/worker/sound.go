package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// encodeAudio encodes a piece of a sound track of the file. A filter of the sound belongs into encode.EncodeAudio, which
// all tracks go through.
func (w *Worker) encodeAudio(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	job, err := w.newJob(ctx, t, v, dir, nil)
	if err != nil {
		return err
	}
	track, piece := video.AudioOf(t.Number)
	p := v.Plan.Sound(track)
	known, _ := v.Sound.Track(track + 1)
	level, began := known.Loudness, 0.0
	if p.LoudnessTarget != 0 && level == nil {
		began = measuring
		if level, err = w.level(ctx, t, job, p); err != nil {
			return conversion(err)
		}
		if level, err = w.Tasks.StoreLoudness(ctx, v, track+1, level); err != nil {
			return err
		}
	}
	file, err := w.encodeTrack(ctx, t, job, p.Levelled(level), piece, began)
	if err != nil && !errors.Is(err, encode.ErrNoAudio) {
		return conversion(err)
	}
	return w.Tasks.FinishAudio(ctx, t, v, file)
}

// level measures a sound track that is to be as loud as others, before it is encoded.
func (w *Worker) level(ctx context.Context, t queue.Task, job ffmpeg.Job, p *video.Plan) (*video.Loudness, error) {
	run, report, stop := w.heartbeat(ctx, t)
	defer stop()
	return w.engine.Level(run, job, p, func(done float64) { report(measuring * done) })
}

// measuring is the part of its task that measuring a track takes.
const measuring = 0.2

// encodeTrack encodes a piece of a sound track, and with the last one writes the track's own file. began is the part of the
// task that is done already.
func (w *Worker) encodeTrack(ctx context.Context, t queue.Task, job ffmpeg.Job, p *video.Plan, piece int, began float64) (pipeline.AudioFile, error) {
	run, report, stop := w.heartbeat(ctx, t)
	output, err := w.engine.EncodeAudio(run, job, p, piece, func(done float64) { report(began + (1-began)*done) })
	stop()
	file := pipeline.AudioFile{Path: output.Path, Packets: output.Frames, Lost: output.Lost, Loudness: output.Loudness}
	if err == nil && output.Whole != "" {
		file.Whole, err = encode.WriteSound(job, p, output.Whole)
	}
	return file, err
}

// makeTrack makes a sound track of a file that was uploaded for it.
func (w *Worker) makeTrack(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	track, ok := v.Sound.Track(t.Number)
	if !ok || !track.Waits() { // it was deleted meanwhile
		return w.Tasks.Skip(ctx, t)
	}
	job := ffmpeg.Job{Source: filepath.Join(dir, "in", "source"), OutDir: filepath.Join(dir, "out"), Yield: pipeline.Yield(v.Plan, t), Sound: true}
	job.Ran = func(r video.Execution) { w.record(ctx, t, r) }
	if err := errors.Join(os.Mkdir(filepath.Dir(job.Source), 0o700), os.Mkdir(job.OutDir, 0o700)); err != nil {
		return fmt.Errorf("make scratch folder: %w", err)
	}
	if err := w.Files.FetchTrackSource(ctx, track, job.Source); err != nil {
		return err
	}
	p, err := w.engine.InspectSound(ctx, job, v.Plan)
	if err != nil {
		return conversion(err)
	}
	var level *video.Loudness
	began := 0.0
	if p.LoudnessTarget != 0 {
		began = measuring
		if level, err = w.level(ctx, t, job, p); err != nil {
			return conversion(err)
		}
	}
	file, err := w.encodeTrack(ctx, t, job, p.Levelled(level), 0, began)
	if errors.Is(err, encode.ErrNoAudio) {
		return video.Failf(video.Corrupt, "The sound of the file is damaged and could not be decoded.")
	}
	if err != nil {
		return conversion(err)
	}
	return w.Tasks.PublishTrack(ctx, t, v, file.Whole, cmp.Or(level, file.Loudness))
}

// remix makes the MP4 files of a video again, with the sound track that is the default now. The frames are copied.
func (w *Worker) remix(ctx context.Context, t queue.Task, v video.Video, dir string) error {
	track, _ := v.Sound.Default()
	sound := filepath.Join(dir, "sound.m4a")
	if err := w.Files.FetchPublished(ctx, v, track.File(), sound); err != nil {
		return err
	}
	var films []pipeline.Film
	var first *pipeline.NewFile
	for _, f := range pipeline.Films(v) {
		path, out := filepath.Join(dir, "film-"+f.File), filepath.Join(dir, "remixed-"+f.File)
		if err := w.Files.FetchPublished(ctx, v, f.File, path); err != nil {
			return err
		}
		if was, ok := v.Sound.Track(v.Sound.InFiles); ok && first == nil && !hasFile(v, was) { // once it is out of the files, it has none
			file := filepath.Join(dir, was.File())
			if err := writeTo(file, path, "", func(out *os.File, film, _ mp4.Input) error {
				return mp4.WriteSound(out, film, v.Plan.Timescale, v.Plan.AudioPieces() > 1)
			}); err != nil {
				return conversion(err)
			}
			first = &pipeline.NewFile{File: video.File{Name: was.File(), Kind: video.TrackFileKind}, Path: file}
		}
		err := writeTo(out, path, sound, func(out *os.File, film, sound mp4.Input) error {
			sum, err := mp4.ReplaceSound(cancellableFile{ctx, out}, film, sound)
			if err != nil {
				return err
			}
			return mp4.Verify(mp4.Input{ReaderAt: out, Size: sum.Size}, sum)
		})
		if err != nil {
			return conversion(err)
		}
		if f, err = w.Tasks.StageFilm(ctx, v, f, out); err != nil {
			return err
		}
		_ = os.Remove(path) // the folder has space for a few files only
		films = append(films, f)
	}
	return w.Tasks.PublishFilms(ctx, t, v, films, first, w.Sound.Announce)
}

func hasFile(v video.Video, t video.AudioTrack) bool {
	_, has := v.File(t.File())
	return has
}

// writeTo writes a file that is made of one or two others.
func writeTo(path, film, sound string, write func(out *os.File, film, sound mp4.Input) error) error {
	var inputs [2]mp4.Input
	for i, name := range []string{film, sound} {
		if name == "" {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		inputs[i] = mp4.Input{ReaderAt: f, Size: info.Size()}
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := write(out, inputs[0], inputs[1]); err != nil {
		return err
	}
	return out.Close()
}
