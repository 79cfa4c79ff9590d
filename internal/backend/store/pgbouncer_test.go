package store_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/need"
)

func TestAPoolerMustKeepSessions(t *testing.T) {
	t.Parallel()
	for mode, says := range map[string]string{
		"session":     "",
		"transaction": "a pooler gives each transaction another connection: connect directly, or set the pooler to session mode",
		"statement":   "a pooler gives each transaction another connection",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			st, err := store.OpenPostgres(t.Context(), pgbouncer(t, pgtest.Fresh(t), mode))
			switch {
			case err == nil && says == "":
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			case err == nil || says == "" || !strings.Contains(err.Error(), says):
				t.Errorf("OpenPostgres = %v; want %q", err, says)
			}
		})
	}
}

// pgbouncer starts a pooler before a database and returns its address there.
func pgbouncer(t *testing.T, address, mode string) string {
	t.Helper()
	path := need.Program(t, "pgbouncer", "/usr/sbin/pgbouncer")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "spool-pooler-") // not t.TempDir: the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := fmt.Sprintf("[databases]\n* = host=%s user=%s\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 6432\nauth_type = any\npool_mode = %s\n",
		u.Query().Get("host"), u.User.Username(), dir, mode)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-q", file)
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	if os.Geteuid() == 0 { // which it refuses to run as
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	exited, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
	u.RawQuery = url.Values{"host": {dir}, "port": {"6432"}}.Encode()
	awaitPooler(t, u.String(), exited)
	return u.String()
}

func awaitPooler(t *testing.T, address string, exited <-chan struct{}) {
	t.Helper()
	for {
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_ = conn.Close(context.WithoutCancel(t.Context())) // it did its service
			return
		}
		select {
		case <-exited:
			t.Fatalf("PgBouncer ended at once: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
