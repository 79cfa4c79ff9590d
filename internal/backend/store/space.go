package store

import (
	"context"
	"os"
)

// Reusable returns how many bytes of the database file deleted rows have left, which new rows use
// again, less what SQLite's write-ahead log holds that the file has to grow for. It is below 0 if the
// log holds more. For PostgreSQL it is 0.
func (s *Store) Reusable(ctx context.Context) (int64, error) {
	if s.pool != nil {
		return 0, nil
	}
	info, err := os.Stat(s.file)
	if err != nil {
		return 0, Wrap("measure reusable space", err)
	}
	var unused, all int64
	err = s.db.QueryRowContext(ctx, `
		SELECT freelist_count * page_size, page_count * page_size
		  FROM pragma_freelist_count, pragma_page_count, pragma_page_size`).Scan(&unused, &all)
	return unused - max(all-info.Size(), 0), Wrap("measure reusable space", err)
}
