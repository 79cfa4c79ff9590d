package store

import (
	"context"
	"database/sql"
)

// readableSecrets lists the tables with secrets that the user of the connection
// may read. docs/database.md denies them to the users of workers.
const readableSecrets = `
	SELECT name FROM (VALUES ('api_key'), ('audience_salt'), ('audit_entry'), ('session'), ('share'), ('signing_key'), ('track_import'), ('video_import'), ('webhook_delivery'), ('webhook_event'), ('webhook_secret')) AS t (name)
	 WHERE has_any_column_privilege(to_regclass(name)::oid, 'SELECT') ORDER BY name`

// ReadableSecrets lists the tables with secrets that the database user may read and a
// worker need not. SQLite has no users.
func ReadableSecrets(ctx context.Context, s *Store) ([]string, error) {
	if s.pool == nil {
		return nil, nil
	}
	return Collect(ctx, s.Queries, "ask for rights", func(row *sql.Rows) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	}, readableSecrets)
}
