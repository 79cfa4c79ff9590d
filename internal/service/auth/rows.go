package auth

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// keyRow is an API key as it is stored, without its secret.
type keyRow struct {
	ID        string
	Name      string
	Tenant    video.Tenant
	Scopes    []string
	Hash      string // of the secret
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	MadeBy    string    // the key that made it over the API; empty: the operator made it
}

const insertKey = `
		INSERT INTO api_key (id, name, tenant, scopes, hash, created_at, expires_at, revoked_at, made_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

// columns are what insertKey stores.
func (k keyRow) columns() []any {
	return []any{k.ID, k.Name, k.Tenant, strings.Join(k.Scopes, ","), k.Hash, store.Millis(k.CreatedAt), store.Millis(k.ExpiresAt), store.Millis(k.RevokedAt), k.MadeBy}
}

// rows are the API keys of a database. Each method is a transaction of its own.
type rows struct{ store *store.Store }

// insert stores a key. A key with the same hash is an error.
func (r rows) insert(ctx context.Context, k keyRow) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.LockTenant(ctx, k.Tenant); err != nil {
			return err
		}
		return insertKeyRow(ctx, tx, k)
	})
}

// insertKeyRow stores a key, and who made it.
func insertKeyRow(ctx context.Context, tx *store.Tx, k keyRow) error {
	if _, err := tx.Exec(ctx, "insert key", insertKey, k.columns()...); err != nil {
		return err
	}
	return tx.Did(ctx, video.Act{Action: video.ActionKeyCreate, Tenant: k.Tenant, Target: k.ID})
}

// insertMade stores a key that another key makes, unless most such keys of its tenant are valid
// already. maker is the ID of that key, or "" if a person made it. If the key was revoked in the meantime, it is not found. Of those that are no longer valid, it keeps
// the newest, as many as kept says: otherwise somebody who makes and revokes keys for ever would fill the database.
func (r rows) insertMade(ctx context.Context, k keyRow, maker string, most, kept int) (inserted bool, err error) {
	err = r.store.InTx(ctx, func(tx *store.Tx) (err error) {
		inserted, err = insertMade(ctx, tx, k, maker, most, kept)
		return err
	})
	return inserted && err == nil, err
}

func insertMade(ctx context.Context, tx *store.Tx, k keyRow, maker string, most, kept int) (inserted bool, err error) {
	if err := tx.LockTenant(ctx, k.Tenant); err != nil {
		return false, err
	}
	if maker != "" {
		// This update changes nothing. It locks the row of the maker, so that it waits for a revocation that runs.
		if valid, err := tx.Exec(ctx, "hold the maker of a key",
			`UPDATE api_key SET made_by = made_by WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
			maker, store.Millis(k.CreatedAt)); err != nil || valid == 0 {
			return false, cmp.Or(err, error(keyNotFound()))
		}
	}
	var n int
	if err := tx.QueryRow(ctx, `
		SELECT count(*) FROM api_key WHERE tenant = $1 AND made_by <> '' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
		k.Tenant, store.Millis(k.CreatedAt)).Scan(&n); err != nil || n >= most {
		return false, store.Wrap("count keys", err)
	}
	if _, err := tx.Exec(ctx, "remove old keys", `
		DELETE FROM api_key WHERE id IN (
			SELECT id FROM api_key WHERE tenant = $1 AND made_by <> '' AND (revoked_at IS NOT NULL OR expires_at <= $2)
			 ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $3)`, k.Tenant, store.Millis(k.CreatedAt), kept); err != nil {
		return false, err
	}
	err = insertKeyRow(ctx, tx, k)
	return err == nil, err
}

const selectKey = `SELECT id, name, tenant, scopes, hash, created_at, expires_at, revoked_at, made_by FROM api_key `

// keysOfTenant lists at most limit keys of a tenant that are not revoked, newest first, from after on.
func keysOfTenant(ctx context.Context, q store.Queries, tenant video.Tenant, after video.Cursor, limit int) ([]keyRow, error) {
	where, args := `WHERE tenant = $1 AND revoked_at IS NULL`, []any{tenant, limit}
	if after != (video.Cursor{}) {
		where, args = where+` AND (created_at, id) < ($3, $4)`, append(args, store.Millis(after.CreatedAt), after.ID)
	}
	return findKeys(ctx, q, selectKey+where+` ORDER BY created_at DESC, id DESC LIMIT $2`, args...)
}

// keyByHash finds the key whose secret has this hash.
func keyByHash(ctx context.Context, q store.Queries, hash string) (keyRow, error) {
	keys, err := findKeys(ctx, q, selectKey+`WHERE hash = $1`, hash)
	if err != nil {
		return keyRow{}, err
	}
	if len(keys) == 0 {
		return keyRow{}, keyNotFound()
	}
	return keys[0], nil
}

// keysByID returns the keys with these IDs that exist, in no order.
func keysByID(ctx context.Context, q store.Queries, ids []string) ([]keyRow, error) {
	in, arg := store.IDList(1, ids)
	return findKeys(ctx, q, selectKey+`WHERE id IN `+in, arg)
}

// keyNotFound is the answer for a key that does not exist.
func keyNotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "key_not_found", Msg: "There is no such key."}
}

// allKeys returns all keys, oldest first.
func allKeys(ctx context.Context, q store.Queries) ([]keyRow, error) {
	return findKeys(ctx, q, selectKey+`ORDER BY created_at, id`)
}

func findKeys(ctx context.Context, q store.Queries, query string, args ...any) ([]keyRow, error) {
	return store.Collect(ctx, q, "read keys", scanKey, query, args...)
}

func scanKey(row *sql.Rows) (keyRow, error) {
	var k keyRow
	var scopes string
	var created, expires, revoked sql.NullInt64
	err := row.Scan(&k.ID, &k.Name, &k.Tenant, &scopes, &k.Hash, &created, &expires, &revoked, &k.MadeBy)
	if scopes != "" { // no scope, where Split would return an empty one
		k.Scopes = strings.Split(scopes, ",")
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = store.FromMillis(created), store.FromMillis(expires), store.FromMillis(revoked)
	return k, err
}

// revoke makes a key invalid from the given time on. Revoking a key twice keeps
// the first time.
func (r rows) revoke(ctx context.Context, id string, at time.Time) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error { return revokeKey(ctx, tx, id, at) })
}

func revokeKey(ctx context.Context, tx *store.Tx, id string, at time.Time) error {
	found, err := store.Collect(ctx, tx.Queries, "revoke key", func(row *sql.Rows) (tenant video.Tenant, err error) {
		err = row.Scan(&tenant)
		return tenant, err
	}, `UPDATE api_key SET revoked_at = COALESCE(revoked_at, $1) WHERE id = $2 RETURNING tenant`, store.Millis(at), id)
	if err == nil && len(found) == 0 {
		return keyNotFound()
	}
	if err != nil {
		return err
	}
	return tx.Did(ctx, video.Act{Action: video.ActionKeyRevoke, Tenant: found[0], Target: id})
}

// revokeOf makes a key of a tenant invalid from the given time on. One that is revoked already is not
// found.
func (r rows) revokeOf(ctx context.Context, tenant video.Tenant, id string, at time.Time) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error { return revokeKeyOf(ctx, tx, tenant, id, at) })
}

func revokeKeyOf(ctx context.Context, tx *store.Tx, tenant video.Tenant, id string, at time.Time) error {
	n, err := tx.Exec(ctx, "revoke key",
		`UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND tenant = $3 AND revoked_at IS NULL`, store.Millis(at), id, tenant)
	if err == nil && n == 0 {
		return keyNotFound()
	}
	if err != nil {
		return err
	}
	return tx.Did(ctx, video.Act{Action: video.ActionKeyRevoke, Tenant: tenant, Target: id})
}

// adopt makes k the only valid key of its name. If a key with the same hash
// exists, it is not inserted again: under the same name it becomes valid even if
// it was revoked, under another name it is left unchanged.
func (r rows) adopt(ctx context.Context, k keyRow) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.LockTenant(ctx, k.Tenant); err != nil {
			return err
		}
		former, err := store.Collect(ctx, tx.Queries, "revoke former keys", func(row *sql.Rows) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		}, `UPDATE api_key SET revoked_at = $1 WHERE name = $2 AND hash <> $3 AND revoked_at IS NULL RETURNING id`,
			store.Millis(k.CreatedAt), k.Name, k.Hash)
		if err != nil {
			return err
		}
		for _, id := range former {
			if err := tx.Did(ctx, video.Act{Action: video.ActionKeyRevoke, Tenant: k.Tenant, Target: id}); err != nil {
				return err
			}
		}
		return adoptRow(ctx, tx, k)
	})
}

// adoptRow stores a key, or makes it valid again. A key that is valid already is no change, so each start says nothing.
func adoptRow(ctx context.Context, tx *store.Tx, k keyRow) error {
	before, err := findKeys(ctx, tx.Queries, selectKey+`WHERE hash = $1`, k.Hash)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "adopt key", insertKey+`
		ON CONFLICT (hash) DO UPDATE SET revoked_at = NULL WHERE api_key.name = excluded.name`, k.columns()...); err != nil {
		return err
	}
	act := video.Act{Action: video.ActionKeyCreate, Tenant: k.Tenant, Target: k.ID}
	if len(before) > 0 {
		if before[0].RevokedAt.IsZero() || before[0].Name != k.Name {
			return nil
		}
		act.Target = before[0].ID
	}
	return tx.Did(ctx, act)
}
