package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/child"
)

func TestADatabaseOfSomebodyElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Database)
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("unable to open database file (14)")
	if os.Geteuid() == 0 {
		if err := Forbidden(path, cause); err != cause {
			t.Errorf("root gets %v; it may read everything", err)
		}
	}
	var err error
	var me string
	child.AsNobody(t, func() { err, me = Forbidden(path, cause), userName(os.Geteuid()) })
	owner := userName(os.Geteuid())
	if want := " belongs to " + owner + ", and " + me + " may not read and write it: run spool as " + owner; !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %q; want %q", err, want)
	}
}
