package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// Disk is the space that the files of SQLite take. PostgreSQL takes care of its own disk.
type Disk struct{ s *Store }

// DiskOf returns the space that the files of a store take.
func DiskOf(s *Store) Disk { return Disk{s} }

// Reusable returns how many bytes of the database file deleted rows have left, which new rows use
// again, less what SQLite's write-ahead log holds that the file has to grow for. It is below 0 if the
// log holds more. For PostgreSQL it is 0.
func (d Disk) Reusable(ctx context.Context) (int64, error) {
	if d.s.pool != nil {
		return 0, nil
	}
	info, err := os.Stat(d.s.file)
	if err != nil {
		return 0, wrap("measure reusable space", err)
	}
	var unused, all int64
	err = d.s.db.QueryRowContext(ctx, `
		SELECT freelist_count * page_size, page_count * page_size
		  FROM pragma_freelist_count, pragma_page_count, pragma_page_size`).Scan(&unused, &all)
	return unused - max(all-info.Size(), 0), wrap("measure reusable space", err)
}

const (
	// reuseTimeout is for ReuseLog as a whole: it waits for the one connection that writes.
	reuseTimeout = 20 * time.Second
	// readsTimeout is how long it then waits for reads to end. Nobody can write meanwhile.
	readsTimeout = 2 * time.Second
)

// ReuseLog makes SQLite write its log from the beginning again. On a full disk the log cannot grow, and as
// long as reads overlap, it would have to. It reports whether the log can be used again.
func (d Disk) ReuseLog() bool {
	if d.s.pool != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), reuseTimeout)
	defer cancel()
	conn, err := d.s.write.Conn(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	// SQLite itself has to give up: the end of a context does not wake it from this.
	if err := setBusyTimeout(ctx, conn, readsTimeout); err != nil {
		return false
	}
	var busy, frames, written int64
	err = conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(RESTART)`).Scan(&busy, &frames, &written)
	return errors.Join(err, setBusyTimeout(ctx, conn, busyTimeout)) == nil && busy == 0
}

// setBusyTimeout sets how long SQLite waits for others on a connection.
func setBusyTimeout(ctx context.Context, conn *sql.Conn, d time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.Milliseconds()))
	return err
}
