package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spool-video/spool/internal/service/backup"
)

type restoreCommand struct {
	Backends
	File         string `arg:"" help:"The backup: a file, or a folder of backups."`
	Snapshot     string `placeholder:"NAME" help:"In a folder: which backup. Default: the newest."`
	List         bool   `help:"List the backups in a folder, and do nothing."`
	KeepWebhooks bool   `help:"Leave webhooks enabled. Use this only if the original no longer runs: otherwise both send."`
	JSON         bool   `name:"json" help:"Print JSON."`
}

func (restoreCommand) Help() string {
	return `Restores into a new data directory, or into an empty PostgreSQL database and an empty
prefix of a bucket. If it was interrupted, run the same command again: it starts over.
Webhooks are disabled in the copy, unless --keep-webhooks is given.

    spool restore /backup/spool.tar --data-dir=/var/lib/spool
    spool restore --list /backup/spool/
    spool restore /backup/spool/ --snapshot=20300102T030000Z --data-dir=./copy
    spool restore /backup/spool.tar --config=/etc/spool.toml --keep-webhooks
`
}

// Run restores a backup.
func (c *restoreCommand) Run(ctx context.Context, p *process) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if c.List {
		return c.list(ctx, p)
	}
	if _, err := backup.Inspect(ctx, c.File, c.Snapshot); err != nil { // before anything is made
		return fmt.Errorf("restore: %w", err)
	}
	target, closeTarget, err := c.openTarget(ctx)
	if err != nil {
		return err
	}
	target.KeepWebhooks = c.KeepWebhooks
	bar := p.newBar("restore")
	header, summary, err := backup.Restore(ctx, c.File, c.Snapshot, target, c.scratch(), bar.show)
	bar.end()
	if err = errors.Join(err, closeTarget()); err != nil {
		return fmt.Errorf("restore: %w", orStopped(ctx, err))
	}
	if webhooks := summary.Rows["webhook"]; webhooks > 0 && !c.KeepWebhooks {
		fmt.Fprintf(p.stderr, "spool: %d webhooks are disabled, so that no event is sent twice: enable them with spool webhooks set ID --enabled when the original does not run any more\n", webhooks)
	}
	view := backupView{File: c.File, CreatedAt: &header.CreatedAt}
	return p.printBackup(c.JSON, "Restored the backup of "+header.CreatedAt.Format(time.RFC3339), view, summary)
}

// scratch is where temporary files go: beside the data, if that is on this machine.
func (b *Backends) scratch() string {
	if b.usesDisk() {
		return b.DataDir
	}
	return ""
}

func (c *restoreCommand) list(ctx context.Context, p *process) error {
	all, err := backup.List(ctx, c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p.stdout, all)
	}
	rows := [][]string{{"NAME", "VIDEOS", "FILES", "SIZE", "VERSION"}}
	for _, s := range all {
		if s.Damaged {
			rows = append(rows, []string{s.Name, "damaged", "-", "-", "-"})
			continue
		}
		if s.Unreadable != "" {
			rows = append(rows, []string{s.Name, "unreadable", "-", "-", "-"})
			fmt.Fprintf(p.stderr, "spool: warning: %s: %s\n", s.Name, s.Unreadable)
			continue
		}
		rows = append(rows, []string{s.Name, strconv.FormatInt(s.Videos, 10), strconv.FormatInt(s.Objects, 10), humanize.Bytes(uint64(s.Bytes)), s.Header.Version})
	}
	return printTable(p.stdout, rows)
}
