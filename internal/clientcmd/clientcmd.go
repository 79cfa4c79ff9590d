// Package clientcmd holds the commands that speak to a server as any client does: upload, ls, get, watch,
// rm, captions, chapters, share and original. They use the package client and nothing else of Spool, so that they have no rights that
// others lack.
//
// Results go to standard output, and what happens meanwhile to standard error. What comes from the server
// or from a file name is printed without characters that a terminal would obey.
package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/client"
)

// Environment is what a command needs beside its arguments: streams, variables and a terminal.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        func(name string) (string, bool)
	// Interactive: somebody sits at the terminal that Stdin and Stderr are.
	Interactive bool
	// Size returns the columns and rows of the terminal that Stderr is, or zeros where it is none.
	Size    func() (columns, rows int)
	Version string
}

// Exit codes of commands with several things to do.
const (
	failed  = 1
	misused = 2 // the command line is wrong, as the server says
	partly  = 3 // some were done
)

// Ended is a command that did not do everything. What was in the way has been said.
type Ended struct {
	Code int
}

func (e *Ended) Error() string { return fmt.Sprintf("ends with code %d", e.Code) }

// tally counts what failed of several tasks of a command.
type tally struct {
	failures int
	refused  int // of failures: see isRefused
}

func (t *tally) add(err error) {
	if err != nil {
		t.failures++
	}
	if isRefused(err) {
		t.refused++
	}
}

// outcome returns how a command of so many tasks ends.
func (t tally) outcome(all int) error {
	switch {
	case t.failures == 0:
		return nil
	case t.failures < all:
		return &Ended{Code: partly}
	case t.refused == all:
		return &Ended{Code: misused}
	default:
		return &Ended{Code: failed}
	}
}

// UsageError is a command line that cannot be followed.
type UsageError struct {
	Text string
}

func (e *UsageError) Error() string { return e.Text }

// Connection says which server to speak to.
type Connection struct {
	Server     string `default:"http://localhost:8080" placeholder:"URL" help:"The server."`
	APIKey     string `name:"api-key" placeholder:"KEY" help:"The API key. Prefer the variable or --api-key-file: other users of the machine can see arguments."`
	APIKeyFile string `name:"api-key-file" placeholder:"FILE" help:"File that contains the API key."`
	JSON       bool   `name:"json" help:"Print JSON, one object on each line."`
}

// client returns a client of the server that repeats failing requests for so long.
func (c *Connection) client(env *Environment, retryFor time.Duration) (*client.Client, error) {
	key := c.APIKey
	if c.APIKeyFile != "" && key == "" {
		text, err := os.ReadFile(c.APIKeyFile)
		if err != nil {
			return nil, &UsageError{Text: "--api-key-file cannot be read: " + err.Error()}
		}
		key = strings.TrimSpace(string(text))
	}
	made, err := client.New(c.Server, key, client.WithRetryFor(retryFor), client.WithUserAgent("spool/"+env.Version))
	if err != nil {
		return nil, &UsageError{Text: err.Error()}
	}
	return made, nil
}

// How long a server that does not answer is asked again: a person waits for the first answer, while an upload of an
// hour is worth waiting for.
const (
	short = 2 * time.Second
	long  = 10 * time.Minute
)

// server returns the address of the server as it may be shown.
func (c *Connection) server() string { return withoutPassword(c.Server) }

// withoutPassword returns an address as it may be shown.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil {
		u.User = nil
		address = u.String()
	}
	return forTerminal(address)
}

// explain says in words for people what went wrong, and what to do.
func (c *Connection) explain(err error) string {
	text := forTerminal(err.Error())
	// The API also says what a program can do with the upload URL. The command has given it up.
	if before, rest, found := strings.Cut(text, " You can upload to the same address"); found {
		if i := strings.LastIndex(rest, " ("); i >= 0 {
			text = before + rest[i:]
		}
	}
	switch client.Code(err) {
	case client.CodeMissingAPIKey:
		return "the server wants an API key: set SPOOL_API_KEY or --api-key-file. The first start of spool serve prints one; spool keys create --name=NAME makes another."
	case client.CodeInvalidAPIKey:
		return fmt.Sprintf("%s does not accept this API key: it is of another server, or was revoked, or has expired. On the server, spool keys create --name=NAME makes another.", c.server())
	case client.CodeInsufficientScope:
		return text + ": this key may not do that; spool keys create --scopes=… makes one that may."
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		why := forTerminal(e.Err.Error())
		if errors.Is(err, syscall.ECONNREFUSED) {
			why = "nothing listens there"
		}
		return fmt.Sprintf("cannot reach %s: %s. Start it with spool serve, or name the server with SPOOL_SERVER or --server.", c.server(), why)
	}
	if errors.Is(err, io.EOF) {
		return fmt.Sprintf("%s closed the connection without an answer: it may be restarting, or it is no Spool. Name the server with SPOOL_SERVER or --server.", c.server())
	}
	return text
}

// fail says what went wrong and ends the command.
func (c *Connection) fail(env *Environment, err error) error {
	if _, usage := errors.AsType[*UsageError](err); usage {
		return err
	}
	fmt.Fprintf(env.Stderr, "spool: %s\n", c.explain(err))
	if isRefused(err) || isKeyless(err) {
		return &Ended{Code: misused}
	}
	return &Ended{Code: failed}
}

// isRefused reports whether the server says that a field of the request is wrong: all of them come from the
// command line.
func isRefused(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == http.StatusBadRequest && len(e.Fields) > 0
}

// isKeyless reports whether no API key was set, where the server wants one.
func isKeyless(err error) bool { return client.Code(err) == client.CodeMissingAPIKey }

// interruptible returns a context that ends with Ctrl-C. The second one kills the process.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// confirm wants a yes from the person at the terminal.
func (env *Environment) confirm(question string) bool {
	fmt.Fprintf(env.Stderr, "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(env.Stdin, &answer) // no answer is no yes
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}
