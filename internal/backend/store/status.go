package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// AcceptUpload moves a video and its resolutions to processing, with the verified
// file. It reports false, and changes nothing, if an upload was accepted before.
func (t *Tx) AcceptUpload(ctx context.Context, id video.ID, s video.Source, at time.Time) (bool, error) {
	n, err := t.change(ctx, "accept upload", id, `
		UPDATE video
		   SET status = 'processing', failure_code = NULL, failure_message = NULL,
		       completed_at = $1, source_key = $2, source_size = $3, source_etag = $4, source_sha256 = $5
		 WHERE id = $6 AND completed_at IS NULL AND deleted_at IS NULL AND status IN `+statusList(video.Before(video.Processing)),
		Millis(at), s.Key, s.Size, s.ETag, NullText(s.SHA256), id)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = t.Exec(ctx, "accept upload", `
		UPDATE resolution SET status = 'processing', failure_code = NULL, failure_message = NULL
		 WHERE video_id = $1 AND status IN `+statusList(video.Before(video.Processing)), id)
	if err != nil {
		return false, err
	}
	t.emit(video.EventUploadCompleted, id)
	return true, t.measure(ctx, id)
}

// RefuseUpload marks a video and its resolutions as failed because of its upload.
// It reports false, and changes nothing, if an upload was accepted. A refusal for the
// same reason as before is no event: repeated requests must not send repeated messages.
func (t *Tx) RefuseUpload(ctx context.Context, id video.ID, f *video.Failure) (bool, error) {
	const refuse = `
		UPDATE video SET status = 'fail', failure_code = $1, failure_message = $2
		 WHERE id = $3 AND completed_at IS NULL AND deleted_at IS NULL AND status IN `
	from := statusList(video.Before(video.Fail))
	n, err := t.change(ctx, "refuse upload", id, refuse+from+` AND (status <> 'fail' OR COALESCE(failure_code, '') <> $1)`, f.Code, f.Message, id)
	if err != nil {
		return false, err
	}
	if n > 0 {
		t.emit(video.EventFailed, id)
	} else if n, err = t.change(ctx, "refuse upload", id, refuse+from, f.Code, f.Message, id); err != nil || n == 0 {
		return false, err
	}
	return true, t.failResolutions(ctx, id, f)
}

// ExpireUpload does the same to a video that waits for an upload whose URL expired
// before the given time. It reports false, and changes nothing, if the URL was
// extended since, or if the video does not wait any more. So only one of several
// callers gets true, and that one removes what was uploaded, which counts no more.
func (t *Tx) ExpireUpload(ctx context.Context, id video.ID, before time.Time, f *video.Failure) (bool, error) {
	n, err := t.change(ctx, "expire upload", id, `
		UPDATE video SET status = 'fail', failure_code = $1, failure_message = $2, source_size = NULL
		 WHERE id = $3 AND status = 'pending_upload' AND deleted_at IS NULL AND upload_expires_at < $4`,
		f.Code, f.Message, id, Millis(before))
	if err != nil || n == 0 {
		return false, err
	}
	if err := t.measure(ctx, id); err != nil {
		return false, err
	}
	t.emit(video.EventFailed, id)
	return true, t.failResolutions(ctx, id, f)
}

// ExtendUpload postpones the expiry of an upload. It changes nothing if the video
// is not waiting for one.
func (t *Tx) ExtendUpload(ctx context.Context, id video.ID, until time.Time) error {
	_, err := t.Exec(ctx, "extend upload", `UPDATE video SET upload_expires_at = $1 WHERE id = $2 AND status = $3`,
		Millis(until), id, video.PendingUpload)
	return err
}

// KeepUploadOpen postpones the expiry of an upload, also for a video that failed
// because of an earlier upload. A video whose upload expired stays failed.
func (s *Store) KeepUploadOpen(ctx context.Context, id video.ID, until time.Time) error {
	return s.InTx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "keep upload open", `
			UPDATE video SET upload_expires_at = $1
			 WHERE id = $2 AND upload_expires_at < $1 AND completed_at IS NULL AND deleted_at IS NULL
			   AND (failure_code IS NULL OR failure_code <> $3)`,
			Millis(until), id, video.UploadExpired)
		return err
	})
}

// ReopenUpload has a video whose upload failed wait for a file again, until a time. It
// reports false, and changes nothing, if no upload of it has failed.
func (t *Tx) ReopenUpload(ctx context.Context, id video.ID, until time.Time) (bool, error) {
	n, err := t.change(ctx, "reopen upload", id, `
		UPDATE video SET status = 'pending_upload', failure_code = NULL, failure_message = NULL, upload_expires_at = $1
		 WHERE id = $2 AND completed_at IS NULL AND deleted_at IS NULL AND status IN `+statusList(video.Before(video.PendingUpload)),
		Millis(until), id)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = t.Exec(ctx, "reopen upload", `
		UPDATE resolution SET status = 'pending_upload', failure_code = NULL, failure_message = NULL
		 WHERE video_id = $1 AND status IN `+statusList(video.Before(video.PendingUpload)), id)
	return true, err
}

// SetImportProgress stores how much of an imported file was fetched, from 0 to 1. After
// the end of the import it changes nothing.
func (t *Tx) SetImportProgress(ctx context.Context, id video.ID, progress float64) error {
	_, err := t.Exec(ctx, "store progress of import", `
		UPDATE video SET import_progress = $1 WHERE id = $2 AND EXISTS (SELECT 1 FROM video_import WHERE video_id = $2)`,
		int64(min(progress, 1)*millionths), id)
	return err
}

// failResolutions marks the resolutions of a video as failed because of its upload.
func (t *Tx) failResolutions(ctx context.Context, id video.ID, f *video.Failure) error {
	_, err := t.Exec(ctx, "fail resolutions", `
		UPDATE resolution SET status = 'fail', failure_code = $1, failure_message = $2
		 WHERE video_id = $3 AND status IN `+statusList(video.Before(video.Fail)), f.Code, f.Message, id)
	return err
}

// MoveVideo changes the status of a video. A change that is not legal from its
// current status is a Conflict, and changes nothing.
func (t *Tx) MoveVideo(ctx context.Context, id video.ID, to video.Status, f *video.Failure) error {
	code, message := failureColumns(f)
	n, err := t.change(ctx, "move video", id, `
		UPDATE video SET status = $1, failure_code = $2, failure_message = $3
		 WHERE id = $4 AND status IN `+statusList(video.Before(to)), to, code, message, id)
	if err := illegalStep(n, err, string(id), to); err != nil {
		return err
	}
	switch to {
	case video.Ready:
		t.emit(video.EventReady, id)
	case video.Fail:
		t.emit(video.EventFailed, id)
	}
	return nil
}

// MoveResolution changes the status of a resolution, like MoveVideo.
func (t *Tx) MoveResolution(ctx context.Context, id video.ResolutionID, to video.Status, f *video.Failure) error {
	code, message := failureColumns(f)
	n, err := t.Exec(ctx, "move resolution", `
		UPDATE resolution SET status = $1, failure_code = $2, failure_message = $3
		 WHERE id = $4 AND status IN `+statusList(video.Before(to)), to, code, message, id)
	if err := illegalStep(n, err, string(id), to); err != nil || to != video.Ready {
		return err
	}
	return t.emitResolutionReady(ctx, id)
}

func illegalStep(n int64, err error, id string, to video.Status) error {
	if err == nil && n == 0 {
		return &video.Error{Kind: video.Conflict, Code: "illegal_step", Msg: fmt.Sprintf("%s cannot become %s.", id, to)}
	}
	return err
}

func failureColumns(f *video.Failure) (code, message any) {
	if f == nil {
		return nil, nil
	}
	return f.Code, f.Message
}

// statusList writes a list of statuses, which are constants, as SQL. An empty list,
// which not every database accepts, is written as (NULL), which equals nothing.
func statusList(all []video.Status) string {
	if len(all) == 0 {
		return "(NULL)"
	}
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = "'" + string(s) + "'"
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}
