package backup

import (
	"bytes"
	"context"

	"github.com/spool-video/spool/internal/backend/store"
)

// Export returns all rows of a database as a backup holds them, and how many there are in each table.
func Export(ctx context.Context, s *store.Store) ([]byte, map[string]int64, error) {
	snapshot, err := store.OpenSnapshot(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	defer snapshot.Close()
	var out bytes.Buffer
	counts, err := exportRows(ctx, snapshot, schema{snapshot.Queries, s.SingleWriter()}, &out)
	return out.Bytes(), counts, err
}
