package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// AddRun counts a run of a child process into its video's effort. The run itself
// is kept while fewer than most of the video's runs are.
func (t *Tx) AddRun(ctx context.Context, id video.ID, r video.Execution, most int) error {
	arguments, err := json.Marshal(r.Arguments)
	if err != nil {
		return fmt.Errorf("store run of %s: %w", id, err)
	}
	var position int64
	err = t.db.QueryRowContext(ctx, `
		INSERT INTO effort (video_id, runs, wall_us, cpu_us, began_at) VALUES ($1, 1, $2, $3, $4)
		ON CONFLICT (video_id) DO UPDATE
		   SET runs = effort.runs + 1, wall_us = effort.wall_us + $2, cpu_us = effort.cpu_us + $3,
		       began_at = CASE WHEN effort.began_at < $4 THEN effort.began_at ELSE $4 END
		RETURNING runs`, id, r.Wall.Microseconds(), r.CPU.Microseconds(), millis(r.StartedAt)).Scan(&position)
	if err != nil {
		return wrap("count run", err)
	}
	_, err = t.affected(ctx, "store run", `
		INSERT INTO run (video_id, position, task, number, attempt, program, arguments, started_at, wall_us, cpu_us, memory, result)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
		 WHERE (SELECT count(*) FROM run WHERE video_id = $1) < $13`,
		id, position, r.Task, r.Number, r.Attempt, r.Program, string(arguments), millis(r.StartedAt),
		r.Wall.Microseconds(), r.CPU.Microseconds(), r.Memory, r.Result, most)
	return err
}

// MarkEnded records when the work on a video came to its end.
func (t *Tx) MarkEnded(ctx context.Context, id video.ID, at time.Time) error {
	_, err := t.affected(ctx, "mark video ended", `
		INSERT INTO effort (video_id, runs, wall_us, cpu_us, ended_at) VALUES ($1, 0, 0, 0, $2)
		ON CONFLICT (video_id) DO UPDATE SET ended_at = $2`, id, millis(at))
	return err
}

// Cost returns what the work on a video cost so far.
func (q queries) Cost(ctx context.Context, id video.ID) (video.Cost, error) {
	var e video.Cost
	var wall, cpu int64
	var began, ended sql.NullInt64
	err := q.db.QueryRowContext(ctx, `SELECT runs, wall_us, cpu_us, began_at, ended_at FROM effort WHERE video_id = $1`, id).
		Scan(&e.Runs, &wall, &cpu, &began, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return video.Cost{}, nil
	}
	e.Wall, e.CPU = time.Duration(wall)*time.Microsecond, time.Duration(cpu)*time.Microsecond
	e.BeganAt, e.EndedAt = fromMillis(began), fromMillis(ended)
	return e, wrap("read effort", err)
}

// Runs returns the runs of a video that were kept, in the order they ended.
func (q queries) Runs(ctx context.Context, id video.ID) ([]video.Execution, error) {
	return collect(ctx, q, "read the runs of "+string(id), scanRun, `
		SELECT task, number, attempt, program, arguments, started_at, wall_us, cpu_us, memory, result
		  FROM run WHERE video_id = $1 ORDER BY position`, id)
}

func scanRun(row *sql.Rows) (video.Execution, error) {
	var r video.Execution
	var arguments string
	var started sql.NullInt64
	var wall, cpu int64
	err := row.Scan(&r.Task, &r.Number, &r.Attempt, &r.Program, &arguments, &started, &wall, &cpu, &r.Memory, &r.Result)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(arguments), &r.Arguments); err != nil {
		return r, fmt.Errorf("arguments: %w", err)
	}
	r.StartedAt = fromMillis(started)
	r.Wall, r.CPU = time.Duration(wall)*time.Microsecond, time.Duration(cpu)*time.Microsecond
	return r, nil
}

// SetQualityScore stores how much a resolution's file looks like its source. One
// that is gone is no error.
func (t *Tx) SetQualityScore(ctx context.Context, id video.ResolutionID, l video.QualityScore) error {
	_, err := t.affected(ctx, "store likeness", `UPDATE resolution SET ssim = $1, psnr = $2 WHERE id = $3`, l.SSIM, l.PSNR, id)
	return err
}

func likeness(ssim, psnr sql.NullFloat64) *video.QualityScore {
	if !ssim.Valid || !psnr.Valid {
		return nil
	}
	return &video.QualityScore{SSIM: ssim.Float64, PSNR: psnr.Float64}
}
