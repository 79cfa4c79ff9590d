// Command spool is a self-hosted service for video upload and transcoding. This
// package owns the command line, the settings, the wiring of the parts and the
// life of the process. No other package imports it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/spool-video/spool/internal/clientcmd"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/settings"
	"github.com/spool-video/spool/internal/video"
)

// Exit codes of the program.
const (
	exitOK     = 0
	exitError  = 1 // something went wrong
	exitUsage  = 2 // the command line or the settings are wrong
	exitPartly = 3 // of several things to do, some were done; see also clientcmd.Ended
)

func main() {
	// The database holds the keys that sign addresses, and private videos are
	// private: nothing that is made from here on is for other users.
	syscall.Umask(0o077)
	p := &process{
		stdin:           os.Stdin,
		stdout:          os.Stdout,
		stderr:          os.Stderr,
		now:             time.Now,
		exit:            os.Exit,
		openKeys:        openKeys,
		openSigningKeys: openSigningKeys,
		openTenants:     openTenants,
		settings: settings.Settings{
			Environ:     os.LookupEnv,
			Variables:   os.Environ,
			DefaultFile: "spool.toml",
			User:        os.Geteuid(),
		},
	}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}

// process is what a command needs beside its arguments.
type process struct {
	stdin           io.Reader
	stdout, stderr  io.Writer
	now             func() time.Time
	exit            func(code int) // for leaving without an orderly end
	openKeys        func(context.Context, Location) (keyStore, io.Closer, error)
	openSigningKeys func(ctx context.Context, l Location, maxLife time.Duration) (signingKeyStore, io.Closer, error)
	openTenants     func(context.Context, Location) (tenantStore, io.Closer, error)
	settings        settings.Settings
}

// run executes one command line and returns the exit code.
func (p *process) run(ctx context.Context, args []string) int {
	if len(args) == 0 || args[0] == "help" { // people type it, as with git and go
		args = append(slices.Clone(args[min(1, len(args)):]), "--help")
	}
	helped := false
	parser, err := newParser(new(cli), &p.settings, kong.Writers(p.stdout, p.stderr), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return p.fail(err, exitError)
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		return p.fail(fmt.Errorf("%s (%s)", parseFault(err), helpHint(err)), exitUsage)
	}
	name, _, _ := strings.Cut(command.Command(), " ")
	if faults := slices.Concat(p.settings.Faults, p.checkVariables(name), p.settings.WithOrigins(command, commandFaults(command))); len(faults) > 0 {
		return p.fail(&configError{faults}, exitUsage)
	}
	if file := p.settings.Source(); file != "" && !p.settings.Named && command.Selected().Name != "serve" { // serve logs it
		fmt.Fprintf(p.stderr, "spool: settings from %s\n", file)
	}
	if name != "serve" {
		ctx = audit.ByCommand(ctx)
	}
	command.BindTo(ctx, (*context.Context)(nil))
	err = command.Run(p, p.environment())
	if e, ok := errors.AsType[*clientcmd.Ended](err); ok {
		return e.Code
	}
	if _, bad := errors.AsType[*clientcmd.UsageError](err); bad {
		return p.fail(err, exitUsage)
	}
	if _, bad := errors.AsType[*configError](err); bad {
		return p.fail(err, exitUsage)
	}
	if err != nil {
		return p.fail(err, exitError)
	}
	return exitOK
}

// parseFault says why a command line is not understood. Where a command is expected, kong speaks of an argument.
func parseFault(err error) string {
	text := err.Error()
	rest, unexpected := strings.CutPrefix(text, "unexpected argument ")
	e, ok := errors.AsType[*kong.ParseError](err)
	if !ok || !unexpected || e.Context == nil {
		return text
	}
	if node := e.Context.Selected(); node != nil && len(node.Children) == 0 {
		return text
	}
	name, hint, suggested := strings.Cut(rest, ", did you mean ")
	if suggested {
		return fmt.Sprintf("there is no command %q; did you mean %s", name, hint)
	}
	return fmt.Sprintf("there is no command %q", name)
}

// helpHint says where the command that was meant is explained, as far as it was recognised.
func helpHint(err error) string {
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil {
		if command := e.Context.Selected(); command != nil {
			return "spool " + command.Path() + " --help explains it"
		}
	}
	return "spool --help explains the commands"
}

// fail tells the person at the terminal what went wrong.
func (p *process) fail(err error, code int) int {
	text := err.Error()
	if e, ok := errors.AsType[*video.Error](err); ok { // has words meant to be seen
		text = e.Msg
		for _, f := range e.Faults {
			text += fmt.Sprintf("\n  - %s %s", f.Field, f.Message)
		}
	}
	fmt.Fprintf(p.stderr, "spool: %s\n", text)
	return code
}

// checkVariables returns why a command is not run because of a misspelt variable. Only a server is not started,
// which would serve in another way than was meant. Other commands warn: the variable may be for that server.
func (p *process) checkVariables(command string) []string {
	switch command {
	case "serve":
		return p.settings.Misspelt(p.settings.Names)
	case "completion", "version":
		return nil
	}
	if all := p.settings.Misspelt(append(slices.Clone(p.settings.Names), settings.ServerFlag)); len(all) > 0 {
		fmt.Fprintf(p.stderr, "spool: warning: %s\n", strings.Join(all, " "))
	}
	return nil
}
