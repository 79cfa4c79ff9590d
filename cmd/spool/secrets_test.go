package main

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// A worker that runs as the owner of the database is told what it could read.
func TestAWorkerThatCanReadSecrets(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	db, err := store.OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var said bytes.Buffer
	(&parts{store: db}).warnOfSecrets(t.Context(), slog.New(slog.NewTextHandler(&said, nil)))
	if !strings.Contains(said.String(), "webhook_secret") || !strings.Contains(said.String(), "docs/database.md") {
		t.Errorf("a worker says %q at its start", said.String())
	}
}
