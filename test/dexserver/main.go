// Command dexserver is the OpenID provider of the tests: dex, with people who sign in by a password, in memory. dex's own
// command also compiles the clients of other databases and its API, which takes much longer.
//
// It is a module of its own, so that nothing of it becomes a dependency of Spool. It reads what it is to be as JSON from
// standard input, and serves until that ends.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/AppsFlyer/go-sundheit"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"golang.org/x/crypto/bcrypt"
)

// config is what the provider is to be.
type config struct {
	Listen  string // HOST:PORT; it serves http
	Clients []storage.Client
	People  []person
}

// person is somebody who can sign in.
type person struct {
	Email, Name, Password string
	Groups                []string
	Unverified            bool // the provider does not vouch for the address
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "dexserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var c config
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(&c); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	dex, err := newProvider(ctx, c, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(ln, dex)
}

// newProvider returns the provider. It does not ask people to approve: signing in is enough.
func newProvider(ctx context.Context, c config, log *slog.Logger) (http.Handler, error) {
	people, err := passwords(c.People)
	if err != nil {
		return nil, err
	}
	rows := memory.New(log)
	rows = storage.WithStaticClients(rows, c.Clients)
	rows = storage.WithStaticPasswords(rows, people, log)
	rows = storage.WithStaticConnectors(rows, []storage.Connector{{ID: connectors.LocalConnector, Name: "Email", Type: connectors.LocalConnector}})
	keys := signer.LocalConfig{KeysRotationPeriod: "6h"}
	sign, err := keys.Open(ctx, rows, time.Hour, time.Now, log)
	if err != nil {
		return nil, err
	}
	return server.NewServer(ctx, server.Config{
		Issuer: "http://" + c.Listen, Storage: rows, SkipApprovalScreen: true, Logger: log, Signer: sign, HealthChecker: gosundheit.New(),
	})
}

// passwords returns the people as dex keeps them.
func passwords(all []person) ([]storage.Password, error) {
	var out []storage.Password
	for i, p := range all {
		hash, err := bcrypt.GenerateFromPassword([]byte(p.Password), 10) // dex accepts no cheaper one
		if err != nil {
			return nil, err
		}
		verified := !p.Unverified
		out = append(out, storage.Password{
			Email: p.Email, Username: p.Name, Name: p.Name, UserID: fmt.Sprintf("user-%d", i), Hash: hash, Groups: p.Groups, EmailVerified: &verified,
		})
	}
	return out, nil
}
