package main

import (
	"fmt"

	"github.com/spool-video/spool/internal/web/handbook"
)

type docsCommand struct {
	Folder string `arg:"" help:"The folder to write to. It is made."`
}

func (docsCommand) Help() string {
	return `A running server shows the handbook at /docs. This writes the same pages as files, without the
forms that send requests.

Examples:

    spool docs site
`
}

// Run writes the handbook.
func (c *docsCommand) Run(p *process) error {
	site, err := handbook.Load(handbook.Static)
	if err != nil {
		return err
	}
	if err := site.WriteTo(c.Folder); err != nil {
		return fmt.Errorf("write the handbook: %w", err)
	}
	fmt.Fprintf(p.stdout, "The handbook begins with %s/index.html.\n", c.Folder)
	return nil
}
