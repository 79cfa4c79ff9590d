package store_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// After a switch to another server, a name in the DNS may lead to the old one for
// a while, which then only reads. Whoever has come there must not stay: other
// connections would be made to the right one by then.
func TestConnectionsThatOnlyReadAreNotKept(t *testing.T) {
	t.Parallel()
	address := migrated.Fresh(t)
	ctx, st := t.Context(), openPostgres(t, address)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	set := func(value string) { // for connections that are made from now on
		pgtest.Exec(t, address, fmt.Sprintf(`BEGIN READ WRITE; ALTER DATABASE %q SET default_transaction_read_only = %s; COMMIT`, strings.TrimPrefix(u.Path, "/"), value))
	}
	set("on")
	pgtest.Exec(t, address, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	wantError(t, st.Ping(ctx), video.Unavailable, "database_unavailable")
	wantError(t, insert(ctx, st, someVideo("a")), video.Unavailable, "database_unavailable")
	set("off")
	for try := 1; ; try++ { // as clients do; each connection fails once, at worst
		err := insert(ctx, st, someVideo("a"))
		if err == nil {
			break
		}
		if try > 16 {
			t.Fatalf("the database writes again, and after %d tries the answer still is: %v", try, err)
		}
	}
	if err := st.Ping(ctx); err != nil {
		t.Errorf("Ping of a database that writes again: %v", err)
	}
}
