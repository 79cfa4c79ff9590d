package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// A worker with the rights that the guide gives it removes a video with its import, and cannot read any secret.
func TestAWorkerReadsNoSecrets(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), pgtest.Fresh(t)
	owner := opened(t, store.OpenPostgres, address)
	// The guide is written for a database that has a queue.
	pgtest.Exec(t, address, "CREATE TABLE river_migration (id bigint)")
	ofWorker := pgtest.WorkerAddress(t, address, "../../../docs")
	worker := opened(t, store.OpenPostgres, ofWorker)
	checkReadableSecrets(t, owner, worker, address, ofWorker)

	imported := video.Video{ID: "i", Tenant: "t", Status: video.PendingUpload, CreatedAt: noon, UploadExpiresAt: noon, Imported: true}
	err := owner.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.InsertVideo(ctx, imported); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO video_import (video_id, url) VALUES ('i', 'https://user:secret@example.com/a.mp4')`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.InTx(ctx, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, imported.ID) }); err != nil {
		t.Errorf("a worker cannot remove a video with an import: %v", err)
	}
	for _, statement := range []string{
		"SELECT url FROM video_import", "DELETE FROM video_import",
		"SELECT secret FROM webhook_secret", "SELECT url FROM webhook", "UPDATE webhook SET enabled = FALSE", "INSERT INTO webhook_secret VALUES ('h', 's', 0)",
		"SELECT snapshot FROM webhook_event", "SELECT * FROM webhook_delivery", "DELETE FROM webhook_delivery", "SELECT hash FROM api_key", "SELECT secret FROM signing_key", "SELECT secret FROM share",
	} {
		err := worker.InTx(ctx, func(tx *store.Tx) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v; want that a worker may not", statement, err)
		}
	}
}

// checkReadableSecrets wants the owner to be told from a worker, by a process and by the doctor.
func checkReadableSecrets(t *testing.T, owner, worker *store.Store, address, ofWorker string) {
	t.Helper()
	all := []string{"api_key", "audience_salt", "audit_entry", "session", "share", "signing_key", "track_import", "video_import", "webhook_delivery", "webhook_event", "webhook_secret"}
	got, err := store.ReadableSecrets(t.Context(), owner)
	e, err2 := store.ExaminePostgres(t.Context(), address)
	if err != nil || err2 != nil || !slices.Equal(got, all) || !slices.Equal(e.Secrets, all) {
		t.Errorf("the owner can read %v and %v, %v, %v; want %v", got, e.Secrets, err, err2, all)
	}
	got, err = store.ReadableSecrets(t.Context(), worker)
	e, err2 = store.ExaminePostgres(t.Context(), ofWorker)
	if err != nil || err2 != nil || len(got)+len(e.Secrets) > 0 {
		t.Errorf("a worker can read %v and %v, %v, %v; want nothing", got, e.Secrets, err, err2)
	}
}
