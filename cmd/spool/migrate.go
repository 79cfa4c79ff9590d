package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/settings"
)

type migrateCommand struct {
	Backends
	To   string `required:"" placeholder:"FILE" help:"TOML file with the settings of the new database and storage: database_url and storage_url, or data_dir."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (migrateCommand) Help() string {
	return `Copies everything into another database and storage: from SQLite and a disk to
PostgreSQL and S3, or back. Stop the service first. Every file is read back and
compared, and rows are counted. The old database and storage stay as they are. If it
was interrupted, run the same command again: it continues.

    spool migrate --to=new.toml
    spool migrate --data-dir=/var/lib/spool --to=/etc/spool-new.toml --json
`
}

// Run copies everything to another database and storage.
func (c *migrateCommand) Run(ctx context.Context, p *process) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	to, err := p.readBackends(c.To)
	if err != nil {
		return err
	}
	if err := c.checkOther(to); err != nil {
		return err
	}
	target, closeTarget, err := to.openTarget(ctx)
	if err != nil {
		return err
	}
	target.KeepWebhooks = true // the service moves, and there is only one
	src, closeSource, err := c.openIdle(ctx)
	if err != nil {
		return errors.Join(err, closeTarget())
	}
	bar := p.newBar("migrate")
	summary, err := backup.Migrate(ctx, src, target, backup.Options{Version: buildVersion(), Scratch: c.scratch(), Progress: bar.show, Hook: crashPoint()})
	bar.end()
	if err = errors.Join(err, closeSource(), closeTarget()); err != nil {
		return fmt.Errorf("migrate: %w", orStopped(ctx, err))
	}
	return p.printBackup(c.JSON, "Everything has arrived, and every file was compared", backupView{File: c.To}, summary)
}

// openIdle opens a source that no other process uses. It locks the data folder; a PostgreSQL database can only
// be checked.
func (c *migrateCommand) openIdle(ctx context.Context) (src backup.Source, closeAll func() error, err error) {
	closeLock := func() error { return nil }
	if c.usesDisk() {
		lock, err := datadir.Lock(c.DataDir)
		if err != nil {
			return src, nil, err
		}
		closeLock = lock.Unlock
	}
	if c.DatabaseURL != "" {
		if c.DatabaseURL, err = withApplicationName(c.DatabaseURL, "spool-migrate"); err != nil {
			return src, nil, errors.Join(err, closeLock())
		}
	}
	src, closeSource, err := c.openSource(ctx)
	if err != nil {
		return src, nil, errors.Join(err, closeLock())
	}
	closeAll = func() error { return errors.Join(closeSource(), closeLock()) }
	others, err := backup.OtherSessions(ctx, src.Store)
	if err == nil && others > 0 {
		err = fmt.Errorf("the database is in use by a Spool (%d connections): stop all of its processes first", others)
	}
	if err != nil {
		return src, nil, errors.Join(err, closeAll())
	}
	return src, closeAll, nil
}

// withApplicationName gives the connections of a database URL a name of their own.
func withApplicationName(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// readBackends reads the settings of another database and storage from a file, and from nowhere else.
func (p *process) readBackends(file string) (*Backends, error) {
	grammar := new(cli)
	s := &settings.Settings{Environ: func(string) (string, bool) { return "", false }, User: p.settings.User}
	parser, err := newParser(grammar, s, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse([]string{"serve", "--config=" + file}); err != nil {
		return nil, err
	}
	c := &grammar.Serve.Config
	target := &Backends{Location: c.Location, StorageURL: c.StorageURL}
	faults := slices.Concat(s.Faults, target.faults())
	if len(faults) == 0 && target.usesDisk() && !s.InFile("data_dir") { // ./data is never meant
		faults = append(faults, fmt.Sprintf("%s does not say where to: set database_url and storage_url, or data_dir.", file))
	}
	if len(faults) > 0 {
		return nil, &configError{faults}
	}
	return target, nil
}

// checkOther refuses to copy a folder into itself.
func (c *migrateCommand) checkOther(to *Backends) error {
	if !c.usesDisk() || !to.usesDisk() {
		return nil
	}
	from, err := os.Stat(c.DataDir)
	if err != nil {
		return nil // opening it says what is wrong
	}
	if there, err := os.Stat(to.DataDir); err == nil && os.SameFile(from, there) {
		return &configError{[]string{fmt.Sprintf("%s is the data directory that is copied: name another data_dir in %s.", to.DataDir, c.To)}}
	}
	return nil
}
