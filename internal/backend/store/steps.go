package store

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Step is one part of the work on a video.
type Step struct {
	Kind     string
	Number   int
	Weight   float64 // share of the work
	Progress float64 // 0 to 1
	Frames   int64   // frames encoded, once done
	Run      string  // which execution of its task made its files, once done
	Done     bool
}

// InsertSteps stores the steps of a plan. Steps that exist already stay unchanged.
func (t *Tx) InsertSteps(ctx context.Context, id video.ID, steps []Step) error {
	const rows, columns = 100, 4
	for len(steps) > 0 {
		batch := steps[:min(rows, len(steps))]
		steps = steps[len(batch):]
		var text strings.Builder
		text.WriteString(`INSERT INTO step (video_id, kind, number, weight, progress, faults, frames) VALUES `)
		args := make([]any, 0, len(batch)*columns)
		for i, s := range batch {
			if i > 0 {
				text.WriteString(", ")
			}
			text.WriteString("(")
			for range columns {
				args = append(args, nil)
				text.WriteString("$" + strconv.Itoa(len(args)) + ", ")
			}
			text.WriteString("0, 0, 0)")
			copy(args[i*columns:], []any{id, s.Kind, s.Number, s.Weight})
		}
		text.WriteString(` ON CONFLICT (video_id, kind, number) DO NOTHING`)
		if _, err := t.db.ExecContext(ctx, text.String(), args...); err != nil {
			return Wrap("insert steps", err)
		}
	}
	return nil
}

// Steps returns the steps of a video, ordered by kind and number.
func (q Queries) Steps(ctx context.Context, id video.ID) ([]Step, error) {
	scan := func(rows *sql.Rows) (Step, error) {
		var s Step
		var done sql.NullInt64
		err := rows.Scan(&s.Kind, &s.Number, &s.Weight, &s.Progress, &s.Frames, &s.Run, &done)
		s.Done = done.Valid
		return s, err
	}
	return Collect(ctx, q, "read steps", scan, `
		SELECT kind, number, weight, progress, frames, execution, done_at
		  FROM step WHERE video_id = $1 ORDER BY kind, number`, id)
}

// StepTotals adds up the steps of some videos. It returns one step for each kind,
// with the weight and the progress of all its steps; only the steps of the kind
// apart stay separate. A video of several hours has hundreds of steps, and its
// progress needs only their sums.
func (q Queries) StepTotals(ctx context.Context, ids []video.ID, apart string) (map[video.ID][]Step, error) {
	sums := make(map[video.ID][]Step, len(ids))
	if len(ids) == 0 {
		return sums, nil
	}
	in, arg := IDList(2, ids)
	rows, err := q.db.QueryContext(ctx, `
		SELECT video_id, kind, which, sum(weight), sum(weight * progress)
		  FROM (SELECT video_id, kind, CASE WHEN kind = $1 THEN number ELSE 0 END AS which, weight, progress
		          FROM step WHERE video_id IN `+in+`) AS part
		 GROUP BY video_id, kind, which`, apart, arg)
	if err != nil {
		return nil, Wrap("add up steps", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id video.ID
		var s Step
		var done float64
		if err := rows.Scan(&id, &s.Kind, &s.Number, &s.Weight, &done); err != nil {
			return nil, Wrap("add up steps", err)
		}
		if s.Weight > 0 {
			s.Progress = done / s.Weight
		}
		sums[id] = append(sums[id], s)
	}
	return sums, Wrap("add up steps", rows.Err())
}

// FinishStep records that a step is done, with its frames and its run. It reports
// false, and changes nothing, if the step was done before or is not wanted any
// more: of two workers with the same task, only one result counts.
func (t *Tx) FinishStep(ctx context.Context, id video.ID, s Step, at time.Time) (bool, error) {
	n, err := t.Exec(ctx, "finish step", `
		UPDATE step SET done_at = $1, progress = 1, frames = $2, execution = $3
		 WHERE video_id = $4 AND kind = $5 AND number = $6 AND done_at IS NULL`,
		Millis(at), s.Frames, s.Run, id, s.Kind, s.Number)
	return n == 1, err
}

// SetProgress records the progress of a step. It reports false if the step is not
// wanted any more: its worker may stop. Running tasks write it often, and nothing
// else depends on it, so it needs no transaction.
func (s *Store) SetProgress(ctx context.Context, id video.ID, kind string, number int, progress float64) (bool, error) {
	return Queries{s.write}.setProgress(ctx, id, kind, number, progress)
}

func (q Queries) setProgress(ctx context.Context, id video.ID, kind string, number int, progress float64) (bool, error) {
	n, err := q.Exec(ctx, "store progress", `
		UPDATE step SET progress = $1
		 WHERE video_id = $2 AND kind = $3 AND number = $4 AND done_at IS NULL`,
		progress, id, kind, number)
	return n == 1, err
}

// CountFault counts a failure of unknown cause and returns how many there were. It
// creates a missing step, such as the inspection before there is a plan.
func (t *Tx) CountFault(ctx context.Context, id video.ID, kind string, number int) (int, error) {
	var n int
	err := t.db.QueryRowContext(ctx, `
		INSERT INTO step (video_id, kind, number, weight, progress, faults, frames) VALUES ($1, $2, $3, 0, 0, 1, 0)
		ON CONFLICT (video_id, kind, number) DO UPDATE SET faults = step.faults + 1
		RETURNING faults`, id, kind, number).Scan(&n)
	return n, Wrap("count fault", err)
}

// DropSteps deletes the steps of a video that is not processed any more.
func (t *Tx) DropSteps(ctx context.Context, id video.ID) error {
	_, err := t.Exec(ctx, "drop steps", `DELETE FROM step WHERE video_id = $1`, id)
	return err
}

// DropStepsOf deletes the steps of one kind.
func (t *Tx) DropStepsOf(ctx context.Context, id video.ID, kind string) error {
	_, err := t.Exec(ctx, "drop steps of a kind", `DELETE FROM step WHERE video_id = $1 AND kind = $2`, id, kind)
	return err
}
