package imports

import (
	"context"
	"database/sql"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// row is an import as it is stored: what the next try has to know.
type row struct {
	video video.ID
	url   string

	startedAt time.Time // of the first try
	troubleAt time.Time // when the tries began that bring nothing; zero: the last one brought something
	tries     int       // of those
	peak      int64     // the most bytes that any try had

	// etag and modified say which version of the file the stored bytes are of.
	etag, modified string
}

func insertRow(ctx context.Context, tx *store.Tx, id video.ID, url string) error {
	_, err := tx.Exec(ctx, "insert import", `INSERT INTO video_import (video_id, url) VALUES ($1, $2)`, id, url)
	return err
}

// beginTry returns the import of a video at the beginning of a try. If it has ended, the video is not found.
func beginTry(ctx context.Context, tx *store.Tx, id video.ID, now time.Time) (row, error) {
	all, err := store.Collect(ctx, tx.Queries, "begin import", func(s *sql.Rows) (r row, err error) {
		var started, trouble sql.NullInt64
		err = s.Scan(&r.video, &r.url, &started, &trouble, &r.tries, &r.peak, &r.etag, &r.modified)
		r.startedAt, r.troubleAt = store.FromMillis(started), store.FromMillis(trouble)
		return r, err
	}, `
		UPDATE video_import SET started_at = COALESCE(started_at, $1)
		 WHERE video_id = $2 AND EXISTS (SELECT 1 FROM video WHERE id = $2 AND status = 'pending_upload')
		RETURNING video_id, url, started_at, trouble_at, tries, peak, etag, modified`, store.Millis(now), id)
	if err != nil {
		return row{video: id}, err
	}
	if len(all) == 0 {
		return row{video: id}, video.VideoNotFound()
	}
	return all[0], nil
}

// setVersion stores which version of the file is being stored from now on.
func setVersion(ctx context.Context, tx *store.Tx, r row) error {
	_, err := tx.Exec(ctx, "store version of import", `UPDATE video_import SET etag = $1, modified = $2 WHERE video_id = $3`,
		r.etag, r.modified, r.video)
	return err
}

// setTries stores what the tries so far have shown.
func setTries(ctx context.Context, tx *store.Tx, r row) error {
	_, err := tx.Exec(ctx, "store tries of import", `UPDATE video_import SET trouble_at = $1, tries = $2, peak = $3 WHERE video_id = $4`,
		store.Millis(r.troubleAt), r.tries, r.peak, r.video)
	return err
}

// failVideo fails a video because its file could not be fetched, or is none. It reports false, and changes
// nothing, if the video does not wait for the file any more.
func failVideo(ctx context.Context, tx *store.Tx, id video.ID, f *video.Failure, now time.Time) (bool, error) {
	refused, err := tx.RefuseUpload(ctx, id, f)
	if err != nil || !refused {
		return false, err
	}
	if _, err := tx.Exec(ctx, "fail import", `UPDATE video SET upload_expires_at = $1 WHERE id = $2`, store.Millis(now), id); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, "fail import", `
		UPDATE video_import SET started_at = NULL, trouble_at = NULL, tries = 0, peak = 0 WHERE video_id = $1`, id)
	return true, err
}

// restart has a video whose import failed wait for its file again. It reports false, and changes nothing, if the import
// has not failed.
func restart(ctx context.Context, tx *store.Tx, id video.ID) (bool, error) {
	reopened, err := tx.ReopenUpload(ctx, id, Forever)
	if err != nil || !reopened {
		return false, err
	}
	return true, tx.SetImportProgress(ctx, id, 0)
}

// finish removes the import of a video that was accepted.
func finish(ctx context.Context, tx *store.Tx, id video.ID) error {
	if err := tx.SetImportProgress(ctx, id, 1); err != nil {
		return err
	}
	return Forget(ctx, tx, id)
}

// Forget removes the import of a video that is deleted: its URL may hold a password.
func Forget(ctx context.Context, tx *store.Tx, id video.ID) error {
	_, err := tx.Exec(ctx, "forget import", `DELETE FROM video_import WHERE video_id = $1`, id)
	return err
}
