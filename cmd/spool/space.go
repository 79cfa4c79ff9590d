package main

import (
	"context"
	"fmt"

	"github.com/spool-video/spool/internal/backend/diskspace"
)

// emergency returns the disk space that is held for deletions and starts on a full disk. Only SQLite
// needs it: with PostgreSQL, nothing that gets the service out of a full disk is written here.
func (c *Config) emergency() *diskspace.Emergency {
	size := int64(c.MinFree)
	if c.DatabaseURL != "" {
		size = 0
	}
	return diskspace.NewEmergency(c.DataDir, size)
}

// createSpace returns what refuses to create videos while the disk has less free space than the
// reserve. Space that deleted rows left in the database file counts as free: SQLite does not give it
// back to the disk, but uses it again.
func (p *parts) createSpace(c *Config) func(context.Context) error {
	if c.DatabaseURL != "" {
		return func(context.Context) error { return p.reserve.Check(0) }
	}
	return func(ctx context.Context) error {
		free, err := diskspace.Free(c.DataDir)
		if err != nil || free >= uint64(c.MinFree) {
			return err
		}
		reusable, err := p.store.Reusable(ctx)
		if err != nil {
			return err
		}
		return p.reserve.CheckDisk(0, uint64(max(int64(free)+reusable, 0)))
	}
}

// minStartBytes is how much a start writes at most: SQLite's files.
const minStartBytes = 2 << 20

// diskFull returns an error if the disk of the data directory has no space for a start.
func (c *Config) diskFull() error {
	free, err := diskspace.Free(c.DataDir)
	if err != nil || free >= minStartBytes {
		return nil
	}
	return fmt.Errorf("the disk of %s is full: %d KiB are free, and a start needs %d; remove something else from it or make it larger, then start again", c.DataDir, free>>10, minStartBytes>>10)
}

// explainFullDisk returns the error of a start, and that the disk is full if that may be the cause.
func (c *Config) explainFullDisk(err error) error {
	if full := c.diskFull(); full != nil {
		return fmt.Errorf("%w (%w)", full, err)
	}
	return err
}
