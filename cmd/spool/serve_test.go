package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/datadir"
)

func TestServeRefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := datadir.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	p, _, stderr := newProcess(nil, nil)
	code := p.run(t.Context(), []string{"serve", "--listen=127.0.0.1:0", "--data-dir", dir})
	if code != exitError || !strings.HasPrefix(stderr.String(), "spool: another spool (pid ") {
		t.Errorf("serve exits with %d and says %q; want %d and who is there", code, stderr, exitError)
	}
}

// TestServeMakesTheDataDirectoryAbsolute is not parallel: it changes the
// working directory. Children run elsewhere, so a relative path must not last.
func TestServeMakesTheDataDirectoryAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	lock, err := datadir.Lock("data")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	abs, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	p, _, stderr := newProcess(nil, nil)
	p.run(t.Context(), []string{"serve", "--listen=127.0.0.1:0"})
	if !strings.Contains(stderr.String(), "is using "+abs+";") {
		t.Errorf("serve works in %q, want %s", stderr, abs)
	}
}

func TestServeSaysWhatToDoAboutItsAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{
		taken.Addr().String(): "another program listens on " + taken.Addr().String() + " already; stop it or choose another --listen",
		"203.0.113.1:8080":    "203.0.113.1:8080 is not an address of this machine; choose another --listen",
		"nowhere.invalid:80":  "listen on nowhere.invalid:80: ",
	} {
		p, _, stderr := newProcess(nil, nil)
		code := p.run(t.Context(), []string{"serve", "--listen", address, "--data-dir", t.TempDir()})
		if got := stderr.String(); code != exitError || !strings.HasPrefix(got, "spool: "+want) {
			t.Errorf("serve on %s exits with %d and says %q; want %q", address, code, got, want)
		}
	}
}
