package pgtest

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// WorkerAddress makes a user with the rights that docs/database.md gives a worker, and returns the address of the
// database for it. docs is the folder of the handbook, as seen from the package that is tested.
func WorkerAddress(t testing.TB, address, docs string) string {
	t.Helper()
	guide, err := os.ReadFile(docs + "/database.md")
	if err != nil {
		t.Fatal(err)
	}
	_, statements, found := strings.Cut(string(guide), "CREATE ROLE spool_worker LOGIN PASSWORD '…';")
	statements, _, _ = strings.Cut(statements, "```")
	if !found || !strings.Contains(statements, "REVOKE") {
		t.Fatal("docs/database.md does not say which rights a worker needs")
	}
	user := "worker_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	Exec(t, address, "CREATE ROLE "+user+" LOGIN")
	Exec(t, address, strings.ReplaceAll(statements, "spool_worker", user))
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	return u.String()
}
