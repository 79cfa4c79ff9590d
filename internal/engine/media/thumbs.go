package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Thumbnails makes the still pictures, one for each thumbnail and rendition.
// A picture that cannot be made is left out.
func (t *Tools) Thumbnails(ctx context.Context, job Job, p *video.Plan, progress Progress) ([]Output, error) {
	if err := writeLook(job, p); err != nil {
		return nil, fmt.Errorf("thumbnails: %w", err)
	}
	var outputs []Output
	all := batches(p)
	for n, b := range all {
		made, err := t.thumbnails(ctx, job, p, b)
		if err != nil {
			return nil, fmt.Errorf("thumbnails, run %d: %w", n, err)
		}
		outputs = append(outputs, made...)
		progress.report(float64(n+1) / float64(len(all)))
	}
	slices.SortStableFunc(outputs, func(a, b Output) int { return a.Thumbnail - b.Thumbnail })
	return outputs, nil
}

// batch is what one run makes: pictures that lie close together in the film, so
// that decoding what is between them costs less than starting anew.
type batch struct {
	seek  int64
	shots []shot // in order of time
}

// shot is one picture of the film, and the thumbnails that show it.
type shot struct {
	pts int64
	of  []int
}

// startCost is how long a stretch of film can be decoded in the time that it
// takes to start a run and to open the file.
const startCost = 1.0

// batches groups the thumbnails of a plan.
func batches(p *video.Plan) []batch {
	order := make([]int, len(p.Thumbnails))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(min(max(p.Thumbnails[a].PTS-p.Thumbnails[b].PTS, -1), 1))
	})
	var out []batch
	for _, i := range order {
		t := p.Thumbnails[i]
		if len(out) == 0 || !out[len(out)-1].reaches(t, p) {
			out = append(out, batch{seek: t.Seek})
		}
		b := &out[len(out)-1]
		if n := len(b.shots); n > 0 && b.shots[n-1].pts == t.PTS {
			b.shots[n-1].of = append(b.shots[n-1].of, i)
		} else {
			b.shots = append(b.shots, shot{pts: t.PTS, of: []int{i}})
		}
	}
	return out
}

// reaches reports whether going on to a thumbnail costs less than a new run.
func (b *batch) reaches(t video.Thumbnail, p *video.Plan) bool {
	tb := p.Input.TimeBase
	from := max(t.Seek, p.FirstPTS)
	return tb.Seconds(t.PTS-b.shots[len(b.shots)-1].pts) <= tb.Seconds(t.PTS-from)+startCost
}

// thumbnails makes the pictures of a batch. In damaged films a frame aimed at
// may not be decodable. Then a picture close to it has to do: that of another
// shot, the keyframe before, at last the first frame of the film.
func (t *Tools) thumbnails(ctx context.Context, job Job, p *video.Plan, b batch) ([]Output, error) {
	anything := []shot{{pts: video.NoSeek}}
	for _, try := range []batch{b, {b.seek, anything}, {video.NoSeek, anything}} {
		if err := removeShots(job, p, len(b.shots)); err != nil {
			return nil, err
		}
		stderr, err := t.transcode(ctx, job, mayEncode(job, p, p.Duration), thumbnailArgs(job, p, try, t.threads), func(float64) {})
		if hole := job.suspect(ctx, err, stderr); hole != nil {
			return nil, hole
		}
		if ours := troubleOfOurs(err, stderr); ours != nil {
			return nil, ours
		}
		made, err := collect(job, p, b)
		if err != nil || len(made) > 0 {
			return made, err
		}
	}
	return nil, nil
}

// shotPath is where ffmpeg puts a picture, counted within its batch.
func shotPath(n, rendition int) string { return fmt.Sprintf("s%d_%d.jpg", n, rendition) }

func thumbnailPath(job Job, thumbnail, rendition int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("t%d_%d.jpg", thumbnail, rendition))
}

func removeShots(job Job, p *video.Plan, n int) error {
	for i := range n {
		for r := range p.Renditions {
			if err := os.Remove(filepath.Join(job.OutDir, shotPath(i, r))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// collect gives the pictures of a batch to their thumbnails. A picture that was
// not made, or not at every rendition, is replaced by its neighbour.
func collect(job Job, p *video.Plan, b batch) ([]Output, error) {
	var outputs []Output
	var latest [][]byte
	for i, s := range b.shots {
		files, err := readShot(job, p, i)
		if err != nil {
			return nil, err
		}
		if files != nil {
			latest = files
		} else if job.Holes {
			return nil, fmt.Errorf("%w: it has no picture at %d", ErrHole, s.pts)
		}
		if latest == nil {
			return nil, nil // they are made in order: there are none
		}
		for _, n := range s.of {
			for r, jpeg := range latest {
				path := thumbnailPath(job, n, r)
				if err := os.WriteFile(path, jpeg, 0o600); err != nil {
					return nil, err
				}
				outputs = append(outputs, Output{Path: path, Rendition: r, Thumbnail: n, Frames: 1, Size: int64(len(jpeg))})
			}
		}
	}
	return outputs, nil
}

// readShot returns a picture at all renditions, or nil when one is not whole.
func readShot(job Job, p *video.Plan, n int) ([][]byte, error) {
	var files [][]byte
	for r := range p.Renditions {
		b, err := os.ReadFile(filepath.Join(job.OutDir, shotPath(n, r)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case !bytes.HasPrefix(b, []byte("\xff\xd8")), !bytes.HasSuffix(b, []byte("\xff\xd9")):
			return nil, nil
		}
		files = append(files, b)
	}
	return files, nil
}

// thumbnailArgs makes the pictures of a batch at every rendition. ffmpeg counts
// them into file names below its working folder, which is the job's.
func thumbnailArgs(job Job, p *video.Plan, b batch, threads int) []string {
	still := *p
	still.Deinterlace = false // done before the shots are selected: it needs their neighbours
	args := append(common(job, p.Input.TimeBase, b.seek, threads),
		"-filter_complex", graph(&still, shotFilters(p, b), toJPEG))
	for r := range p.Renditions {
		args = append(args, "-map", fmt.Sprintf("[v%d]", r), "-frames:v", strconv.Itoa(len(b.shots)), "-fps_mode", "passthrough",
			"-c:v", "mjpeg", "-q:v", "3", "-flags", "+bitexact") // without the encoder's name in it
		args = append(args, onlyThis...)
		args = append(args, "-f", "image2", "-start_number", "0", "file:"+strings.Replace(shotPath(0, r), "s0", "s%d", 1))
	}
	return args
}

// shotFilters let the shots of a batch pass: for each the first frame that is
// not shown before it.
func shotFilters(p *video.Plan, b batch) []string {
	filters := clockFilters(p)
	shift, unit := int64(0), int64(1)
	if !timed(p.Input) && b.seek == video.NoSeek {
		filters = append(filters, "setpts=PTS-STARTPTS")
		shift = p.FirstPTS
	}
	if p.Deinterlace {
		filters = append(filters, deinterlace)
		unit = 2 // it halves the time base
	}
	if b.shots[0].pts == video.NoSeek {
		return append(filters, "null")
	}
	// The time to wait for grows with each shot that has been selected.
	var e strings.Builder
	before := int64(0)
	for i, s := range b.shots {
		at := unit * (s.pts - shift)
		if i == 0 {
			fmt.Fprintf(&e, "%d", at)
		} else {
			fmt.Fprintf(&e, "+%d*gte(selected_n,%d)", at-before, i)
		}
		before = at
	}
	return append(filters, fmt.Sprintf("select='gte(pts,%s)'", e.String()))
}
