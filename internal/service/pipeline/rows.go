package pipeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// addExecution adds an execution of a child process to the cost of its video. The
// execution itself is stored only while the video has fewer than most of them.
func addExecution(ctx context.Context, tx *store.Tx, id video.ID, e video.Execution, most int) error {
	arguments, err := json.Marshal(e.Arguments)
	if err != nil {
		return fmt.Errorf("store execution of %s: %w", id, err)
	}
	var position int64
	err = tx.QueryRow(ctx, `
		INSERT INTO video_cost (video_id, executions, wall_us, cpu_us, began_at) VALUES ($1, 1, $2, $3, $4)
		ON CONFLICT (video_id) DO UPDATE
		   SET executions = video_cost.executions + 1, wall_us = video_cost.wall_us + $2, cpu_us = video_cost.cpu_us + $3,
		       began_at = CASE WHEN video_cost.began_at < $4 THEN video_cost.began_at ELSE $4 END
		RETURNING executions`, id, e.Wall.Microseconds(), e.CPU.Microseconds(), store.Millis(e.StartedAt)).Scan(&position)
	if err != nil {
		return store.Wrap("add up cost", err)
	}
	_, err = tx.Exec(ctx, "store execution", `
		INSERT INTO execution (video_id, position, task, number, attempt, program, arguments, started_at, wall_us, cpu_us, memory, result)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
		 WHERE (SELECT count(*) FROM execution WHERE video_id = $1) < $13`,
		id, position, e.Task, e.Number, e.Attempt, e.Program, string(arguments), store.Millis(e.StartedAt),
		e.Wall.Microseconds(), e.CPU.Microseconds(), e.Memory, e.Result, most)
	return err
}

// markEnded records when the work on a video ended.
func markEnded(ctx context.Context, tx *store.Tx, id video.ID, at time.Time) error {
	_, err := tx.Exec(ctx, "mark video ended", `
		INSERT INTO video_cost (video_id, executions, wall_us, cpu_us, ended_at) VALUES ($1, 0, 0, 0, $2)
		ON CONFLICT (video_id) DO UPDATE SET ended_at = $2`, id, store.Millis(at))
	return err
}

// CostOf returns what the work on a video cost so far.
func CostOf(ctx context.Context, q store.Queries, id video.ID) (video.Cost, error) {
	var c video.Cost
	var wall, cpu int64
	var began, ended sql.NullInt64
	err := q.QueryRow(ctx, `SELECT executions, wall_us, cpu_us, began_at, ended_at FROM video_cost WHERE video_id = $1`, id).
		Scan(&c.Executions, &wall, &cpu, &began, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return video.Cost{}, nil
	}
	c.Wall, c.CPU = time.Duration(wall)*time.Microsecond, time.Duration(cpu)*time.Microsecond
	c.BeganAt, c.EndedAt = store.FromMillis(began), store.FromMillis(ended)
	return c, store.Wrap("read cost", err)
}

// ExecutionsOf returns the stored executions of a video, in the order they ended.
func ExecutionsOf(ctx context.Context, q store.Queries, id video.ID) ([]video.Execution, error) {
	return store.Collect(ctx, q, "read the executions of "+string(id), scanExecution, `
		SELECT task, number, attempt, program, arguments, started_at, wall_us, cpu_us, memory, result
		  FROM execution WHERE video_id = $1 ORDER BY position`, id)
}

func scanExecution(row *sql.Rows) (video.Execution, error) {
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
	r.StartedAt = store.FromMillis(started)
	r.Wall, r.CPU = time.Duration(wall)*time.Microsecond, time.Duration(cpu)*time.Microsecond
	return r, nil
}

// setQualityScore stores how close a resolution's file is to its source. It is no
// error if the resolution is gone.
func setQualityScore(ctx context.Context, tx *store.Tx, id video.ResolutionID, l video.QualityScore) error {
	_, err := tx.Exec(ctx, "store quality score", `UPDATE resolution SET ssim = $1, psnr = $2, no_better_than = $3 WHERE id = $4`,
		l.SSIM, l.PSNR, sql.NullString{String: string(l.NoBetterThan), Valid: l.NoBetterThan != ""}, id)
	return err
}

// processingVideos lists the videos in processing whose ids follow after, in the order of their ids.
func processingVideos(ctx context.Context, q store.Queries, after video.ID, limit int) ([]video.ID, error) {
	return store.Collect(ctx, q, "list videos", scanID,
		`SELECT id FROM video WHERE status = 'processing' AND id > $1 ORDER BY id LIMIT $2`, after, limit)
}

// lackingVariants lists the ready videos whose ids follow after, in the order of their ids, that may lack a variant, or
// work after their pass. There is one codec beside H.264, so a resolution with any variant has all of them.
func lackingVariants(ctx context.Context, q store.Queries, after video.ID, limit int) ([]video.ID, error) {
	return store.Collect(ctx, q, "list videos", scanID, `
		SELECT id FROM video
		 WHERE codecs IS NOT NULL AND status = 'ready' AND id > $1
		   AND (EXISTS (SELECT 1 FROM resolution
		                 WHERE resolution.video_id = video.id AND resolution.status = 'ready' AND variants IS NULL)
		     OR EXISTS (SELECT 1 FROM step WHERE step.video_id = video.id AND done_at IS NULL))
		 ORDER BY id LIMIT $2`, after, limit)
}

func scanID(row *sql.Rows) (id video.ID, err error) {
	err = row.Scan(&id)
	return id, err
}
