package store_test

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
)

// A pooler such as PgBouncer refuses connections that ask at their beginning for
// settings other than the few it keeps track of.
func TestPostgresConnectionsBeginAsAPoolerLikesThem(t *testing.T) {
	t.Parallel()
	known := []string{"user", "database", "client_encoding", "datestyle", "timezone", "standard_conforming_strings", "application_name"}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	opened := make(chan error, 1)
	go func() {
		_, err := store.OpenPostgres(t.Context(), "postgres://spool@"+listener.Addr().String()+"/spool?sslmode=disable")
		opened <- err
	}()
	for _, setting := range startup(t, listener) {
		if !slices.Contains(known, strings.ToLower(setting)) {
			t.Errorf("the connection begins with a wish for %s", setting)
		}
	}
	if err := <-opened; err == nil {
		t.Error("a database was opened where there is none")
	}
}

// startup returns the names of what the next connection asks for at its beginning.
func startup(t *testing.T, listener net.Listener) []string {
	t.Helper()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := make([]byte, 8) // length and protocol
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	words := make([]byte, binary.BigEndian.Uint32(head)-8)
	if _, err := io.ReadFull(conn, words); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, word := range strings.Split(strings.TrimRight(string(words), "\x00"), "\x00") {
		if i%2 == 0 {
			names = append(names, word)
		}
	}
	return names
}

func TestPostgresConnectionsHaveTheirLimits(t *testing.T) {
	t.Parallel()
	st := openPostgres(t, pgtest.Fresh(t))
	for setting, want := range map[string]string{
		"lock_timeout": "3s", "statement_timeout": "5s", "idle_in_transaction_session_timeout": "5min",
		"default_transaction_isolation": "read committed", "application_name": "spool",
	} {
		var got string
		err := st.Pool().QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %s", setting, got, err, want)
		}
	}
	st = opened(t, store.OpenImpatient, pgtest.Fresh(t))
	began := time.Now()
	_, err := st.Pool().Exec(t.Context(), `SELECT pg_sleep(20)`)
	if took := time.Since(began); err == nil || took > 5*time.Second {
		t.Errorf("a statement ended after %s with %v; want it given up after 1.5 s", took, err)
	}
}
