package main

import (
	"os"

	"golang.org/x/term"

	"github.com/spool-video/spool/internal/clientcmd"
)

// environment returns what the commands that speak to a server need.
func (p *process) environment() *clientcmd.Environment {
	out, size := terminal(p.stderr)
	in, _ := terminal(p.stdin)
	return &clientcmd.Environment{
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, Environ: p.settings.Environ,
		Interactive: in && out, Size: size, Version: buildVersion(),
	}
}

// terminal reports whether a stream is a terminal, and returns what tells its size.
func terminal(stream any) (is bool, size func() (columns, rows int)) {
	none := func() (int, int) { return 0, 0 }
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, none
	}
	if os.Getenv("TERM") == "dumb" { // it cannot move its cursor
		return true, none
	}
	return true, func() (int, int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil || columns <= 0 {
			return 80, 24
		}
		return columns, rows
	}
}
