package doctor

import (
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
	for serves, warns := range map[bool]bool{false: true, true: false} {
		d, found := doctorFor(Config{DatabaseURL: address, ServesRequests: serves})
		d.checkPostgres(t.Context())
		last := (*found)[len(*found)-1]
		if got := strings.Contains(last.Text, "webhook_secret") && last.Fix != ""; got != warns {
			t.Errorf("of a process that serves requests (%t), the doctor finds %+v", serves, *found)
		}
	}
}
