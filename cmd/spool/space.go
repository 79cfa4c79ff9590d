package main

import (
	"context"
	"fmt"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/webhook"
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
		reusable, err := store.DiskOf(p.store).Reusable(ctx)
		if err != nil {
			return err
		}
		return p.reserve.CheckDisk(0, uint64(max(int64(free)+reusable, 0)))
	}
}

// eventsShort says whether less than half, or an eighth, of the reserve is left, by the same measure:
// nothing that is refused on a full disk has taken the rest. What is held for deletions is left, too.
func (p *parts) eventsShort(c *Config, emergency *diskspace.Emergency) func(context.Context) (webhook.Shortage, error) {
	return func(ctx context.Context) (webhook.Shortage, error) {
		held := emergency.Held() // before the rest: if it is given up in between, it counts twice, not never
		free, err := diskspace.Free(c.DataDir)
		if err != nil {
			return webhook.Enough, err
		}
		reusable, err := store.DiskOf(p.store).Reusable(ctx)
		switch left := int64(free) + held + reusable; {
		case err != nil || left >= int64(c.MinFree)/2:
			return webhook.Enough, err
		case left >= int64(c.MinFree)/8:
			return webhook.Short, nil
		}
		return webhook.Critical, nil
	}
}

// release returns what gets disk space back for a deletion that has failed on a full disk: what is held
// for it, and the database's log.
func (p *parts) release(emergency *diskspace.Emergency) func() bool {
	return func() bool {
		released := emergency.Release()
		return store.DiskOf(p.store).ReuseLog() || released
	}
}

// deletionSpace is where deletions get disk space from: events of webhooks, and what release gets back.
func (p *parts) deletionSpace(emergency *diskspace.Emergency) janitor.Space {
	space := janitor.Space{Release: p.release(emergency)}
	if p.dispatcher != nil {
		space.FreeSpace = p.dispatcher.FreeSpace
	}
	return space
}

// minStartBytes is how much a start writes at most: SQLite's files, and what the test of the sandbox
// needs.
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
