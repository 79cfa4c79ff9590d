package client_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain runs the examples where there is a server for them: test/e2e sets SPOOL_SERVER and
// SPOOL_API_KEY, and SPOOL_TEST_FILMS to a folder with film.mp4.
func TestMain(m *testing.M) {
	flag.Parse()
	dir := os.Getenv("SPOOL_TEST_FILMS")
	if dir == "" {
		if err := flag.Set("test.skip", "^Example"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	} else if err := os.Chdir(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
