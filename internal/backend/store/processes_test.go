package store_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
)

// rounds is how often each of two processes writes.
const rounds = 40

// pathVariable tells a second process of this test which database to write to.
const pathVariable = "SPOOL_TEST_SECOND_WRITER"

// The command line works on the database while the server runs. Neither loses
// what the other writes, and neither sees "database is locked".
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), fresh(t)
	st := open(t, path)
	if err := insert(ctx, st, someVideo("a")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	second := exec.CommandContext(ctx, self, "-test.run=^TestSecondWriter$", "-test.count=1")
	second.Env = append(os.Environ(), pathVariable+"="+path)
	type end struct {
		output []byte
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		output, err := second.CombinedOutput()
		ended <- end{output, err}
	}()
	countFaults(t, st)
	if e := <-ended; e.err != nil {
		t.Fatalf("the second process: %v\n%s", e.err, e.output)
	}
	if got := countFault(t, st); got != 2*rounds+1 {
		t.Errorf("%d faults were counted, want %d", got, 2*rounds+1)
	}
}

// TestSecondWriter is the other process of TestTwoProcesses.
func TestSecondWriter(t *testing.T) {
	path := os.Getenv(pathVariable)
	if path == "" {
		t.Skip("runs as a second process only")
	}
	countFaults(t, open(t, path))
}

func countFaults(t *testing.T, st *store.Store) {
	t.Helper()
	last := 0
	for range rounds {
		n := countFault(t, st)
		if n <= last {
			t.Errorf("fault number %d follows number %d", n, last)
		}
		last = n
	}
}

func countFault(t *testing.T, st *store.Store) (n int) {
	t.Helper()
	err := st.InTx(t.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.CountFault(t.Context(), "a", "inspect", 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
