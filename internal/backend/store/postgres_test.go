package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/migrate"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestPostgres(t *testing.T) {
	t.Parallel()
	// Looking for migrations takes as long as most cases. Other tests do it.
	storetest.Run(t, func(t *testing.T) *store.Store { return opened(t, store.ConnectPostgres, migrated.Fresh(t)) })
}

// migrated is a database with an up-to-date schema.
var migrated = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
	st, err := store.OpenPostgres(ctx, url)
	if err != nil {
		return err
	}
	return st.Close()
}}

func openPostgres(t testing.TB, address string) *store.Store {
	t.Helper()
	return opened(t, store.OpenPostgres, address)
}

func TestPostgresManyStartersAtOnce(t *testing.T) {
	t.Parallel()
	checkManyStarters(t, store.OpenPostgres, pgtest.Fresh(t))
}

// A starter that has something to add waits for another one's long migration, though no statement of a request
// would. One that finds everything there waits for nobody.
func TestPostgresStarterWaits(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	first, second := opened(t, store.OpenImpatient, address), opened(t, store.OpenImpatient, address)
	guests := fstest.MapFS{"migrations/0001_guest.sql": {Data: []byte(`CREATE TABLE guest (id BIGINT)`)}}
	done := make(chan error, 1)
	slow := func(context.Context, *pgxpool.Pool) error {
		go func() { done <- second.Migrate(t.Context(), "guests", guests) }()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		third, err := store.OpenImpatient(ctx, address)
		if err != nil {
			return fmt.Errorf("start with nothing to add: %w", err)
		}
		select {
		case err := <-done:
			t.Errorf("another starter did not wait: %v", err)
			done <- err // for whoever waits for its end
		case <-time.After(2 * time.Second):
		}
		return third.Close()
	}
	if err := first.ChangeSchema(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPostgresOfANewerSpool(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	const applied = `INSERT INTO migration (set_name, name, applied_at) VALUES ('store', $1, 1)`
	pgtest.Exec(t, address, applied, "9998_future.sql")
	if older := openPostgres(t, address); !slices.Equal(older.Newer(), []string{"store/9998_future.sql"}) {
		t.Errorf("Newer = %q; want to hear of what is not known", older.Newer())
	}
	pgtest.Exec(t, address, applied, "9999_future.breaking.sql")
	if _, err := store.OpenPostgres(t.Context(), address); !errors.Is(err, migrate.ErrNewer) {
		t.Errorf("OpenPostgres = %v; want %v", err, migrate.ErrNewer)
	}
}

func TestPostgresOpenRefuses(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	pgtest.Exec(t, address, `CREATE DATABASE narrow TEMPLATE template0 ENCODING 'SQL_ASCII'`)
	pgtest.Exec(t, address, `CREATE ROLE guest LOGIN`)
	pgtest.Exec(t, address, `CREATE ROLE nobody NOLOGIN`)
	with := func(user, path string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set("user", user)
		u.User, u.RawQuery = url.UserPassword(user, "hunter2"), query.Encode()
		if path != "" {
			u.Path = path
		}
		return u.String()
	}
	for name, tt := range map[string]struct{ address, says string }{
		"a database that cannot hold every text": {with("spool", "/narrow"), "ENCODING 'UTF8'"},
		"an address that is none":                {"postgres://spool:hunter2@host:port/db", "parse"},
		"a server that is not there":             {"postgres://spool:hunter2@127.0.0.1:1/db", `database "db" at 127.0.0.1:1: nothing listens there`},
		"a host that is not there":               {"postgres://spool:hunter2@nowhere.invalid/db", "its host cannot be found"},
		"a database that is not there":           {with("spool", "/nothing"), `database "nothing" at `},
		"what to do about a missing database":    {with("spool", "/nothing"), "there is no such database: create it"},
		"a user that may not create tables":      {with("guest", ""), "make it the owner of the database"},
		"a user that may not log in":             {with("nobody", ""), "the server does not let this user in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.OpenPostgres(t.Context(), tt.address)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("OpenPostgres = %v, want it to say %q", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in the error: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
		})
	}
}

// A worker's user may have no right to change the schema.
func TestPostgresIsOpenedByAUserWhoMayNotCreateTables(t *testing.T) {
	t.Parallel()
	address, user := pgtest.Fresh(t), "clerk_"+strings.ToLower(rand.Text())
	owner, err := store.OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	pgtest.Exec(t, address, `CREATE ROLE `+user+` LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO `+user)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	clerk, err := store.OpenPostgres(t.Context(), u.String())
	if err != nil {
		t.Fatalf("the schema is up to date, and the database cannot be opened: %v", err)
	}
	if err := clerk.Close(); err != nil {
		t.Error(err)
	}
}
