package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// InsertVideo stores a new video with its resolutions.
func (t *Tx) InsertVideo(ctx context.Context, v video.Video) error {
	query, args := insertVideo(&v)
	if _, err := t.change(ctx, "insert video", v.ID, query, args...); err != nil {
		return err
	}
	for i, r := range v.Resolutions {
		const q = `INSERT INTO resolution (id, video_id, name, position, status) VALUES ($1, $2, $3, $4, $5)`
		if _, err := t.db.ExecContext(ctx, q, r.ID, v.ID, r.Name, i, r.Status); err != nil {
			return Wrap("insert resolution", err)
		}
	}
	return nil
}

// Video returns a video with its resolutions, even one that is marked deleted. Its
// plan is set only while it is processing: the plan of a long video has thousands
// of entries, and the readers of a finished one do not need it.
//
// Videos and resolutions are two tables, so outside a transaction they are read in
// a snapshot: otherwise a reader could see a video in processing whose resolutions
// are all ready.
func (s *Store) Video(ctx context.Context, id video.ID) (video.Video, error) {
	return s.readVideo(ctx, id, listColumns)
}

// VideoWithPlan is Video with the plan in every status, for callers that work with the
// plan or report it.
func (s *Store) VideoWithPlan(ctx context.Context, id video.ID) (video.Video, error) {
	return s.readVideo(ctx, id, fullColumns)
}

func (s *Store) readVideo(ctx context.Context, id video.ID, columns string) (video.Video, error) {
	var v video.Video
	err := s.Read(ctx, func(q Queries) (err error) {
		v, err = q.video(ctx, id, columns)
		return err
	})
	return v, err
}

// SelectVideos returns the videos that a condition selects, with their resolutions, with two statements. where is what
// follows FROM video. Plans are read of the videos that are processing.
func (q Queries) SelectVideos(ctx context.Context, where string, args ...any) ([]video.Video, error) {
	videos, err := Collect(ctx, q, "read videos", func(row *sql.Rows) (video.Video, error) { return scanVideo(row) },
		`SELECT `+listColumns+` FROM video `+where, args...)
	if err != nil || len(videos) == 0 {
		return nil, err
	}
	return videos, q.addResolutions(ctx, videos)
}

// addResolutions adds the resolutions of videos, with one statement.
func (q Queries) addResolutions(ctx context.Context, videos []video.Video) error {
	ids := make([]video.ID, len(videos))
	for i, v := range videos {
		ids[i] = v.ID
	}
	all, err := q.resolutions(ctx, ids)
	for i, v := range videos {
		videos[i].Resolutions = all[v.ID]
	}
	return err
}

// Read runs f on one moment of the database. It only reads.
func (s *Store) Read(ctx context.Context, f func(Queries) error) error {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // there is nothing to commit
	return f(Queries{tx})
}

// snapshotOptions make a read-only transaction that sees one moment of the database.
var snapshotOptions = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}

// snapshot begins a read-only transaction that sees one moment of the database.
func (s *Store) snapshot(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.read.BeginTx(ctx, snapshotOptions)
	return tx, Wrap("begin to read", err)
}

// Video is Store.VideoWithPlan inside a transaction.
func (t *Tx) Video(ctx context.Context, id video.ID) (video.Video, error) {
	return t.video(ctx, id, fullColumns)
}

func (q Queries) video(ctx context.Context, id video.ID, columns string) (video.Video, error) {
	v, err := scanVideo(q.db.QueryRowContext(ctx, `SELECT `+columns+` FROM video WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return video.Video{}, video.VideoNotFound()
	}
	if err != nil {
		return video.Video{}, err
	}
	all, err := q.resolutions(ctx, []video.ID{id})
	v.Resolutions = all[id]
	return v, err
}

func failure(code, message sql.NullString) *video.Failure {
	if !code.Valid {
		return nil
	}
	return &video.Failure{Code: video.FailureCode(code.String), Message: message.String}
}

// resolutions returns the resolutions of some videos, in the order requested.
func (q Queries) resolutions(ctx context.Context, ids []video.ID) (map[video.ID][]video.Resolution, error) {
	in, arg := IDList(1, ids)
	rows, err := Collect(ctx, q, "read resolutions", scanResolution, `
		SELECT id, video_id, name, status, failure_code, failure_message, width, height, size_bytes, bitrate, ssim, psnr, no_better_than, variants, copied
		  FROM resolution WHERE video_id IN `+in+` ORDER BY video_id, position`, arg)
	all := make(map[video.ID][]video.Resolution, len(ids))
	for _, r := range rows {
		all[r.VideoID] = append(all[r.VideoID], r)
	}
	return all, err
}

func qualityScore(ssim, psnr sql.NullFloat64, noBetter sql.NullString) *video.QualityScore {
	if !ssim.Valid || !psnr.Valid {
		return nil
	}
	return &video.QualityScore{SSIM: ssim.Float64, PSNR: psnr.Float64, NoBetterThan: video.Name(noBetter.String)}
}

func scanResolution(row *sql.Rows) (video.Resolution, error) {
	var r video.Resolution
	var code, message, noBetter, variants sql.NullString
	var width, height, size, bitrate sql.NullInt64
	var ssim, psnr sql.NullFloat64
	err := row.Scan(&r.ID, &r.VideoID, &r.Name, &r.Status, &code, &message, &width, &height, &size, &bitrate, &ssim, &psnr, &noBetter, &variants, &r.Copied)
	r.Failure = failure(code, message)
	r.Width, r.Height = int(width.Int64), int(height.Int64)
	r.SizeBytes, r.Bitrate = size.Int64, bitrate.Int64
	r.Quality = qualityScore(ssim, psnr, noBetter)
	if err == nil && variants.Valid {
		err = json.Unmarshal([]byte(variants.String), &r.Variants)
	}
	return r, err
}

// VideoOf returns the id of the video that a resolution belongs to.
func (s *Store) VideoOf(ctx context.Context, id video.ResolutionID) (video.ID, error) {
	var v video.ID
	err := s.db.QueryRowContext(ctx, `SELECT video_id FROM resolution WHERE id = $1`, id).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", video.ResolutionNotFound()
	}
	return v, Wrap("find video of resolution", err)
}

// OwnerOf returns the id of the video whose objects lie in a folder, even one that is marked deleted.
func (q Queries) OwnerOf(ctx context.Context, in video.Folder) (video.ID, error) {
	var id video.ID
	err := q.db.QueryRowContext(ctx, `
		SELECT id FROM video WHERE objects_in = $1 UNION ALL SELECT id FROM video WHERE before_in = $1
		 UNION ALL SELECT id FROM video WHERE id = $1 AND objects_in IS NULL`, in).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", video.VideoNotFound()
	}
	return id, Wrap("find the owner of a folder", err)
}

// StoreFields stores some columns of a video: what its client may change. The video must be locked.
func (t *Tx) StoreFields(ctx context.Context, v *video.Video, columns ...string) error {
	var set []string
	args := []any{v.ID}
	for _, f := range videoFields(v) {
		if slices.Contains(columns, f.column) {
			args = append(args, f.value)
			set = append(set, fmt.Sprintf("%s = $%d", f.column, len(args)))
		}
	}
	_, err := t.change(ctx, "change video", v.ID, `UPDATE video SET `+strings.Join(set, ", ")+` WHERE id = $1`, args...)
	return err
}

// Findings are what the work on a video has found out and made: documents that
// are stored as JSON.
type Findings struct {
	Plan     *video.Plan // with the duration of the video
	Warnings []video.Warning
	Files    []video.File
	Sound    *video.Sound
	Playable time.Time // see video.Video.PlayableAt
}

// SetFindings replaces those findings of a video that are not nil or zero.
func (t *Tx) SetFindings(ctx context.Context, id video.ID, f Findings) error {
	var columns []string
	var args []any
	set := func(column string, value any) {
		args = append(args, value)
		columns = append(columns, fmt.Sprintf("%s = $%d", column, len(args)))
	}
	for _, d := range []struct {
		column   string
		document any
		given    bool
	}{
		{"plan", f.Plan, f.Plan != nil}, {"warnings", f.Warnings, f.Warnings != nil}, {"files", f.Files, f.Files != nil}, {"sound", f.Sound, f.Sound != nil},
	} {
		if !d.given {
			continue
		}
		text, err := json.Marshal(d.document)
		if err != nil {
			return fmt.Errorf("store %s of %s: %w", d.column, id, err)
		}
		set(d.column, string(text))
	}
	if f.Plan != nil {
		set("duration_us", f.Plan.Duration.Microseconds())
	}
	if !f.Playable.IsZero() {
		set("playable_at", Millis(f.Playable))
		t.emit(video.EventPlayable, id)
	}
	if len(columns) == 0 {
		return nil
	}
	_, err := t.Exec(ctx, "store findings",
		`UPDATE video SET `+strings.Join(columns, ", ")+fmt.Sprintf(` WHERE id = $%d`, len(args)+1), append(args, id)...)
	if err != nil || f.Files == nil {
		return err
	}
	return t.measure(ctx, id)
}

// SetOutput stores the properties of a resolution's file and of its variants.
func (t *Tx) SetOutput(ctx context.Context, r video.Resolution) error {
	variants, err := listOrNull(r.Variants)
	if err != nil {
		return fmt.Errorf("store output of %s: %w", r.ID, err)
	}
	_, err = t.changeFile(ctx, "store output", `
		UPDATE resolution SET width = $1, height = $2, size_bytes = $3, bitrate = $4, variants = $5, copied = $6 WHERE id = $7 RETURNING video_id`,
		r.Width, r.Height, r.SizeBytes, r.Bitrate, variants, r.Copied, r.ID)
	return err
}

// listOrNull writes a list as JSON, and an empty one as NULL.
func listOrNull[T any](all []T) (any, error) {
	if len(all) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// InsertResolution adds a resolution to a video, after the existing ones.
func (t *Tx) InsertResolution(ctx context.Context, r video.Resolution) error {
	code, message := failureColumns(r.Failure)
	_, err := t.Exec(ctx, "add resolution", `
		INSERT INTO resolution (id, video_id, name, position, status, failure_code, failure_message)
		SELECT $1, $2, $3, COALESCE(MAX(position), -1) + 1, $4, $5, $6 FROM resolution WHERE video_id = $2`,
		r.ID, r.VideoID, r.Name, r.Status, code, message)
	return err
}

// MarkDeleted hides a video from readers while its objects are removed.
func (t *Tx) MarkDeleted(ctx context.Context, id video.ID, at time.Time) error {
	return t.MarkDeletedFor(ctx, id, at, "")
}

// MarkDeletedFor is MarkDeleted for a reason that webhooks are told.
func (t *Tx) MarkDeletedFor(ctx context.Context, id video.ID, at time.Time, why video.DeletionReason) error {
	n, err := t.change(ctx, "mark video deleted", id,
		`UPDATE video SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, Millis(at), id)
	if err != nil {
		return err
	}
	if n > 0 {
		t.emitted = append(t.emitted, Event{Type: video.EventDeleted, Video: id, Reason: why})
	}
	return nil
}

// RemoveVideo deletes a video with everything that refers to it. It is no error if the video does not exist.
func (t *Tx) RemoveVideo(ctx context.Context, id video.ID) error {
	_, err := t.change(ctx, "remove video", id, `DELETE FROM video WHERE id = $1`, id)
	return err
}

// RemoveResolution deletes one resolution.
func (t *Tx) RemoveResolution(ctx context.Context, id video.ResolutionID) error {
	existed, err := t.changeFile(ctx, "remove resolution", `DELETE FROM resolution WHERE id = $1 RETURNING video_id`, id)
	if err == nil && !existed {
		return video.ResolutionNotFound()
	}
	return err
}

// changeFile runs a statement that changes or removes a resolution and returns the id of its video, and measures the
// video. It reports whether the resolution existed.
func (t *Tx) changeFile(ctx context.Context, op, text string, args ...any) (existed bool, err error) {
	var id video.ID
	err = t.db.QueryRowContext(ctx, text, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, Wrap(op, err)
	}
	return true, t.measure(ctx, id)
}

// AbandonedUploads lists videos that still wait for an upload whose URL expired
// before the given time, the oldest first. It leaves out videos that are being
// deleted.
func (s *Store) AbandonedUploads(ctx context.Context, before time.Time, limit int) ([]video.ID, error) {
	return s.queryIDs(ctx, `
		SELECT id FROM video
		 WHERE status = 'pending_upload' AND deleted_at IS NULL AND upload_expires_at < $1
		 ORDER BY upload_expires_at LIMIT $2`, Millis(before), limit)
}

// MarkFailedUploads marks videos deleted that failed because of their upload and
// whose upload URL expired before the given time, the oldest first and at most
// limit. It returns which. One whose upload is repaired or extended at this moment
// is left alone: PostgreSQL evaluates the condition again after it has waited for
// the row.
func (s *Store) MarkFailedUploads(ctx context.Context, before, at time.Time, limit int) ([]video.ID, error) {
	const failed = `status = 'fail' AND completed_at IS NULL AND deleted_at IS NULL AND upload_expires_at < $2`
	var ids []video.ID
	err := s.InTx(ctx, func(tx *Tx) error {
		freed := map[video.Tenant]counts{} // such a video counts for its file and its tags
		tags := map[video.Tenant]map[string]int64{}
		var err error
		ids, err = Collect(ctx, tx.Queries, "mark failed uploads", func(row *sql.Rows) (id video.ID, err error) {
			var tenant video.Tenant
			var bytes int64
			var tagged []string
			err = row.Scan(&id, &tenant, &bytes, optionalJSON{&tagged})
			freed[tenant] = counts{bytes: freed[tenant].bytes - bytes}
			if tags[tenant] == nil {
				tags[tenant] = map[string]int64{}
			}
			for _, tag := range tagged {
				tags[tenant][tag]--
			}
			return id, err
		}, `
			UPDATE video SET deleted_at = $1
			 WHERE `+failed+` AND id IN (
			       SELECT id FROM video WHERE `+failed+` ORDER BY upload_expires_at LIMIT $3)
			RETURNING id, tenant, coalesce(source_size, 0), tags`, Millis(at), Millis(before), limit)
		if err != nil {
			return err
		}
		for _, id := range ids {
			tx.emit(video.EventDeleted, id)
		}
		for _, tenant := range slices.Sorted(maps.Keys(freed)) { // in one order, so that none deadlock
			if err := tx.addCounts(ctx, tenant, freed[tenant]); err != nil {
				return err
			}
			if err := tx.addTags(ctx, tenant, tags[tenant]); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// MarkedDeleted lists the videos that are marked deleted and not removed yet.
func (s *Store) MarkedDeleted(ctx context.Context) ([]video.ID, error) {
	return s.queryIDs(ctx, `SELECT id FROM video WHERE deleted_at IS NOT NULL`)
}

func (q Queries) queryIDs(ctx context.Context, text string, args ...any) ([]video.ID, error) {
	return Collect(ctx, q, "list videos", func(row *sql.Rows) (id video.ID, err error) {
		err = row.Scan(&id)
		return id, err
	}, text, args...)
}
