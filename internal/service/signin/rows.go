package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const sessionColumns = `id, hash, once, key_id, issuer, subject, address, name, claim, granted, tenant, client, browser, created_at, expires_at`

// insertSession stores a session. One of the same sign-in is refused.
func insertSession(ctx context.Context, tx *store.Tx, s Session, hash, once string) error {
	granted, err := json.Marshal(s.Person.Granted)
	if err != nil {
		return fmt.Errorf("store a session: %w", err)
	}
	n, err := tx.Exec(ctx, "insert session", `
		INSERT INTO session (`+sessionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (once) DO NOTHING`,
		s.ID, hash, once, store.NullText(s.KeyID), s.Person.Issuer, s.Person.Subject, s.Person.Address, s.Person.Name, s.Person.Claim, string(granted),
		s.Tenant, s.Client, s.Browser, store.Millis(s.CreatedAt), store.Millis(s.ExpiresAt))
	if err == nil && n == 0 {
		return errUsed
	}
	return err
}

func scanSession(row *sql.Rows) (s Session, err error) {
	var hash, once, granted string
	var key sql.NullString
	var created, expires sql.NullInt64
	err = row.Scan(&s.ID, &hash, &once, &key, &s.Person.Issuer, &s.Person.Subject, &s.Person.Address, &s.Person.Name, &s.Person.Claim, &granted,
		&s.Tenant, &s.Client, &s.Browser, &created, &expires)
	if err == nil {
		err = json.Unmarshal([]byte(granted), &s.Person.Granted)
	}
	s.KeyID, s.CreatedAt, s.ExpiresAt = key.String, store.FromMillis(created), store.FromMillis(expires)
	return s, err
}

func findSessions(ctx context.Context, q store.Queries, where string, args ...any) ([]Session, error) {
	return store.Collect(ctx, q, "read sessions", scanSession, `SELECT `+sessionColumns+` FROM session `+where, args...)
}

// findSession returns the session that a condition is for.
func findSession(ctx context.Context, q store.Queries, where string, args ...any) (Session, error) {
	found, err := findSessions(ctx, q, where, args...)
	if err == nil && len(found) == 0 {
		err = notFound()
	}
	if err != nil {
		return Session{}, err
	}
	return found[0], nil
}

// sessionsOf lists at most limit sessions that have not ended, newest first, from after on: of a tenant, or of all for "".
func sessionsOf(ctx context.Context, q store.Queries, tenant video.Tenant, now time.Time, after video.Cursor, limit int) ([]Session, error) {
	where, args := `WHERE expires_at > $1`, []any{store.Millis(now)}
	if tenant != "" {
		args = append(args, tenant)
		where += ` AND tenant = $2`
	}
	if after != (video.Cursor{}) {
		args = append(args, store.Millis(after.CreatedAt), after.ID)
		where += fmt.Sprintf(` AND (created_at, id) < ($%d, $%d)`, len(args)-1, len(args))
	}
	args = append(args, limit)
	return findSessions(ctx, q, where+fmt.Sprintf(` ORDER BY created_at DESC, id DESC LIMIT $%d`, len(args)), args...)
}

// sessionsByID returns the sessions with these IDs that exist, in no order.
func sessionsByID(ctx context.Context, q store.Queries, ids []string) ([]Session, error) {
	in, arg := store.IDList(1, ids)
	return findSessions(ctx, q, `WHERE id IN `+in, arg)
}

// removeSession ends a session, if it is still there.
func removeSession(ctx context.Context, tx *store.Tx, id string) error {
	n, err := tx.Exec(ctx, "end session", `DELETE FROM session WHERE id = $1`, id)
	if err == nil && n == 0 {
		return notFound()
	}
	return err
}

// removeExpired removes at most limit sessions that have ended, and returns how many.
func removeExpired(ctx context.Context, tx *store.Tx, now time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, "remove old sessions", `
		DELETE FROM session WHERE id IN (SELECT id FROM session WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`, store.Millis(now), limit)
}

// setTenant changes the tenant that a person has chosen.
func setTenant(ctx context.Context, tx *store.Tx, id string, tenant video.Tenant) error {
	n, err := tx.Exec(ctx, "choose a tenant", `UPDATE session SET tenant = $1 WHERE id = $2`, tenant, id)
	if err == nil && n == 0 {
		return notFound()
	}
	return err
}

// tenantNames lists at most limit tenants by name.
func tenantNames(ctx context.Context, q store.Queries, limit int) ([]video.Tenant, error) {
	return store.Collect(ctx, q, "read tenants", func(row *sql.Rows) (t video.Tenant, err error) {
		err = row.Scan(&t)
		return t, err
	}, `SELECT name FROM tenant ORDER BY name LIMIT $1`, limit)
}

// tenantExists reports whether a tenant has ever had a key or a video.
func tenantExists(ctx context.Context, q store.Queries, name video.Tenant) (bool, error) {
	found, err := store.Collect(ctx, q, "find tenant", func(row *sql.Rows) (n int, err error) {
		err = row.Scan(&n)
		return n, err
	}, `SELECT 1 FROM tenant WHERE name = $1`, name)
	return len(found) > 0, err
}
