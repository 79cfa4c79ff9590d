package clientcmd

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"time"
)

// Open is spool open.
type Open struct {
	Connection
	ID    string        `arg:"" help:"The video."`
	Print bool          `help:"Print the address only."`
	Life  time.Duration `name:"expires" default:"24h" placeholder:"DURATION" help:"How long the page of a private video works. Default: 24h."`
}

// Help is shown by --help.
func (Open) Help() string {
	return `Opens the page of a video in the browser of this machine, and prints its address. The variable BROWSER names another
program.

Examples:

    spool open 0198c5b6-7d5e-7c3a
    spool open 0198c5b6-7d5e-7c3a --expires=1h --print
`
}

// Run opens the page of a video.
func (c *Open) Run(ctx context.Context, env *Environment) error {
	if err := checkLife(c.Life); err != nil {
		return err
	}
	_, v, err := c.read(ctx, env, c.ID, c.Life)
	if err != nil {
		return c.fail(env, err)
	}
	page := cmp.Or(v.WatchURL, v.EmbedURL)
	if page == "" {
		return c.fail(env, fmt.Errorf("this video has no page: it is %s", statusText(v)))
	}
	// A browser, and whatever else the system would start, gets addresses of pages only.
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return c.fail(env, fmt.Errorf("the server names %q as the page, which is no address of one", page))
	}
	if c.JSON {
		err = printJSON(env.Stdout, map[string]string{"id": v.ID, "url": page})
	} else {
		_, err = fmt.Fprintln(env.Stdout, forTerminal(page))
	}
	if err != nil || c.Print {
		return err
	}
	if err := env.browse(u.String()); err != nil {
		fmt.Fprintf(env.Stderr, "spool: no browser could be opened (%v): open the address yourself\n", err)
	}
	return nil
}

// browse opens an address in a browser, without waiting for its end.
func (env *Environment) browse(address string) error {
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if named, _ := env.Environ("BROWSER"); named != "" {
		program, args = named, []string{address}
	}
	return exec.Command(program, args...).Start()
}
