package store_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// A worker with the rights that the guide gives it records events, and cannot read where they go.
func TestAWorkerRecordsEvents(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), pgtest.Fresh(t)
	owner := opened(t, store.OpenPostgres, address)
	// The guide is written for a database that has a queue.
	pgtest.Exec(t, address, "CREATE TABLE river_migration (id bigint)")
	h := store.Webhook{ID: "h", Tenant: "t", URL: "https://example.com/secret", Enabled: true, CreatedAt: noon}
	if _, err := store.WebhooksOf(owner).Insert(ctx, h, "whsec_secret", 20); err != nil {
		t.Fatal(err)
	}
	worker := opened(t, store.OpenPostgres, workerAddress(t, address))

	v := video.Video{ID: "v", Tenant: "t", Status: video.Processing, CreatedAt: noon, UploadExpiresAt: noon}
	err := worker.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.InsertVideo(ctx, v); err != nil {
			return err
		}
		return tx.MoveVideo(ctx, v.ID, video.Ready, nil)
	})
	if err != nil {
		t.Fatalf("a worker cannot change a video of a tenant with a webhook: %v", err)
	}
	got, err := store.WebhooksOf(owner).Deliveries(ctx, "h", "", video.Cursor{}, 10)
	if err != nil || len(got) != 1 || got[0].Type != video.EventReady {
		t.Errorf("deliveries: %+v, %v; want one", got, err)
	}
	imported := video.Video{ID: "i", Tenant: "t", Status: video.PendingUpload, CreatedAt: noon, UploadExpiresAt: noon, Imported: true}
	err = owner.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.InsertVideo(ctx, imported); err != nil {
			return err
		}
		return store.ImportsIn(tx).Insert(ctx, imported, "https://user:secret@example.com/a.mp4", noon)
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
		"SELECT snapshot FROM webhook_event", "SELECT * FROM webhook_delivery", "DELETE FROM webhook_delivery", "SELECT hash FROM api_key", "SELECT secret FROM signing_key",
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

// workerAddress makes a user as docs/database.md says, and returns the address of the database for it.
func workerAddress(t *testing.T, address string) string {
	t.Helper()
	guide, err := os.ReadFile("../../../docs/database.md")
	if err != nil {
		t.Fatal(err)
	}
	_, statements, found := strings.Cut(string(guide), "CREATE ROLE spool_worker LOGIN PASSWORD '…';")
	statements, _, _ = strings.Cut(statements, "```")
	if !found || !strings.Contains(statements, "REVOKE") {
		t.Fatal("docs/database.md does not say which rights a worker needs")
	}
	user := "worker_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	pgtest.Exec(t, address, "CREATE ROLE "+user+" LOGIN")
	pgtest.Exec(t, address, strings.ReplaceAll(statements, "spool_worker", user))
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	return u.String()
}
