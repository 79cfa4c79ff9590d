package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spool-video/spool/test/need"
)

// pristine keeps two servers of this process from making the shared data directory at once.
var pristine sync.Mutex

// makeData makes the data directory of a server. In a run that has a folder for it, one server calls
// initdb and all others copy the result, which takes a tenth of the time.
func (s *Server) makeData(ctx context.Context) error {
	folder := need.SharedFolder()
	if folder == "" {
		return s.initdb(ctx, s.data())
	}
	shared := filepath.Join(folder, "postgres")
	pristine.Lock()
	defer pristine.Unlock()
	if _, err := os.Stat(shared); errors.Is(err, fs.ErrNotExist) {
		if err := s.initdb(ctx, s.data()); err != nil {
			return err
		}
		return s.share(ctx, shared)
	}
	return s.copyData(ctx, shared, s.data())
}

// share offers a copy of the data directory to others. Of several test binaries that do so at
// once, one wins; a folder appears whole or not at all.
func (s *Server) share(ctx context.Context, shared string) error {
	part, err := os.MkdirTemp(filepath.Dir(shared), "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	made := filepath.Join(part, "data")
	if err := s.copyData(ctx, s.data(), made); err != nil {
		return err
	}
	if err := os.Rename(made, shared); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (s *Server) initdb(ctx context.Context, to string) error {
	cmd := s.command(ctx, "initdb", "-D", to, "-U", user, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// copyData copies a data directory with its owner and modes, which PostgreSQL insists on.
func (s *Server) copyData(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy a data directory: %w: %s", err, out)
	}
	return nil
}

// copiesFiles returns the option of CREATE DATABASE that has the files of a template copied, as all versions
// below 15 do. Newer ones send every page through the log, which takes twice the time.
func copiesFiles(version string) string {
	if major, _, _ := strings.Cut(version, "."); len(major) < 2 || major < "15" {
		return ""
	}
	return " STRATEGY file_copy"
}
