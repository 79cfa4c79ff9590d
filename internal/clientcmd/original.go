package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Original is spool original.
type Original struct {
	Connection
	ID     string `arg:"" help:"The video."`
	Output string `short:"o" placeholder:"FILE" help:"Where to store it; - is standard output. Default: its own name, in this folder."`
}

// Help is shown by --help.
func (Original) Help() string {
	return `Downloads the file that was uploaded, and checks its SHA-256 where the server knows it.
Without -o, a file that is there is not overwritten.

Examples:

    spool original 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool original 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e -o master.mov
`
}

// originalLife is how long a download may be continued.
const originalLife = 24 * time.Hour

// Run downloads the file.
func (c *Original) Run(ctx context.Context, env *Environment) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	o, err := api.Original(ctx, c.ID, originalLife)
	if err != nil {
		return c.fail(env, err)
	}
	if c.Output == "-" {
		if err := api.Download(ctx, o, env.Stdout); err != nil {
			return c.fail(env, err)
		}
		return nil
	}
	name := c.Output
	if name == "" {
		name = localName(o.Filename)
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			return &UsageError{Text: fmt.Sprintf("%s is there already: name another file with -o", forTerminal(name))}
		}
	}
	if err := storeWhole(name, func(w io.Writer) error { return api.Download(ctx, o, w) }); err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]any{"id": c.ID, "file": name, "sizeBytes": o.SizeBytes, "sha256": o.SHA256})
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  %s  %s\n", forTerminal(c.ID), formatBytes(o.SizeBytes), forTerminal(name))
	return err
}

// storeWhole stores what write writes as a file. Until all of it is there, it has another name.
func storeWhole(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".spool-*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone if it was renamed
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// localName returns the name under which a file is stored here. The uploader chose the name freely, so it loses what
// could be a path, hide the file or control a terminal.
func localName(filename string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, filename)
	if name = strings.Trim(name, ". "); name == "" {
		return "original"
	}
	return name
}
