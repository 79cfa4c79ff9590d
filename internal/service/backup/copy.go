package backup

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/system"
)

// Source is what is copied.
type Source struct {
	Store *store.Store
	Queue queue.Queue
	Blobs blob.Store
}

// Progress is told how far a copy is. total is an estimate, 0 while nothing is known.
type Progress func(objects, bytes, total int64)

// Options are what a copy may be told.
type Options struct {
	Version  string // of this program
	Scratch  string // a folder for the rows on their way; they may be large
	Progress Progress
	Hook     failpoint.Hook
}

// sink is where a copy goes.
type sink interface {
	// begin is told how many bytes may come.
	begin(ctx context.Context, h Header, bytes int64) error
	// findStored returns the entry of an object that is there already in this version.
	findStored(ctx context.Context, info blob.Info) (e entry, found bool, err error)
	// put stores an object.
	put(ctx context.Context, info blob.Info, r io.Reader) (entry, error)
	// finish stores the rest: the tasks, the rows and, behind everything, the summary.
	finish(ctx context.Context, tasks, rows *lineFile, s *Summary) error
	// abandon removes what an unfinished copy left.
	abandon()
}

const (
	// holdTTL is how long the janitor waits for a backup that does not renew its hold.
	holdTTL   = time.Minute
	holdRenew = 15 * time.Second
	// maxMissing is how many objects may be lost before the storage is taken for the wrong one.
	maxMissing = 1000
)

// copier copies one source to one sink.
type copier struct {
	source  Source
	sink    sink
	options Options
	summary *Summary
	total   int64
}

// noteTimeout is how long noting a backup may take.
const noteTimeout = 10 * time.Second

// NotNotedError means that a backup is complete, but the database does not know it: what watches the age
// of the newest backup takes it for missing.
type NotNotedError struct{ err error }

func (e *NotNotedError) Error() string {
	return fmt.Sprintf("the backup is complete, but that could not be noted in the database, so its age is reported wrongly: %v", e.err)
}

func (e *NotNotedError) Unwrap() error { return e.err }

// backUp makes a backup, and notes it in the database: its age is watched. It returns the summary also with
// a NotNotedError.
func backUp(ctx context.Context, src Source, to sink, o Options) (*Summary, error) {
	began, err := src.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	summary, err := run(ctx, src, to, o)
	if err != nil {
		return nil, err
	}
	// The backup is complete, so it is recorded even if ctx ends now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := system.RecordBackup(ctx, src.Store, began); err != nil {
		return summary, &NotNotedError{err}
	}
	return summary, nil
}

// run copies everything.
func run(ctx context.Context, src Source, to sink, o Options) (_ *Summary, err error) {
	if newer := src.Store.Newer(); len(newer) > 0 {
		return nil, fmt.Errorf("the database was changed by a newer Spool (migration %s): use that version", newer[0])
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64, int64) {}
	}
	c := &copier{source: src, sink: to, options: o, summary: &Summary{}}
	defer func() {
		if err != nil {
			to.abandon()
		}
	}()
	id := uuid.Must(uuid.NewV7()).String()
	h, err := holdDeletions(ctx, src.Store, id)
	if err != nil {
		return nil, err
	}
	defer h.release()
	if err := c.copyAll(h.ctx, id, h.confirm); err != nil {
		if cause := context.Cause(h.ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return c.summary, nil
}

// errLapsed ends a backup whose process stood still.
var errLapsed = errors.New("this process, or the database, stood still for more than a minute, so files that the backup needs may have been removed meanwhile: make it again")

// hold keeps the janitor from removing what the backup may need.
type hold struct {
	removals pipeline.RemovalHold
	ctx      context.Context // ends if the hold cannot be kept up
	release  func()
}

// holdDeletions takes a hold and keeps it up.
func holdDeletions(ctx context.Context, s *store.Store, id string) (*hold, error) {
	removals, err := pipeline.HoldRemovals(ctx, s, id, holdTTL)
	if err != nil {
		return nil, err
	}
	h := &hold{removals: removals}
	var cancel context.CancelCauseFunc
	h.ctx, cancel = context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.keepUp(cancel)
	}()
	h.release = func() {
		cancel(nil)
		<-done
		after, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		_ = removals.Release(after) // it expires
	}
	return h, nil
}

// keepUp renews the hold until its context ends.
func (h *hold) keepUp(fail func(error)) {
	renewed := time.Now()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(holdRenew):
		}
		err := h.renew(h.ctx)
		switch {
		case err == nil:
			renewed = time.Now()
		case errors.Is(err, errLapsed):
			fail(err)
			return
		case time.Since(renewed) > holdTTL-holdRenew:
			fail(fmt.Errorf("the database does not answer: %w", err))
			return
		}
	}
}

// renew prolongs the hold, which must not have ended.
func (h *hold) renew(ctx context.Context) error {
	still, err := h.removals.Renew(ctx, holdTTL)
	if err == nil && !still {
		return errLapsed
	}
	return err
}

// confirm returns nil if the hold has not ended until now. A database that does not answer is asked again,
// until keepUp gives up.
func (h *hold) confirm(ctx context.Context) error {
	for {
		err := h.renew(ctx)
		if err == nil || errors.Is(err, errLapsed) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// copyAll copies the rows of this moment and then what they need. held is asked last whether all of that
// was kept for it.
func (c *copier) copyAll(ctx context.Context, id string, held func(context.Context) error) error {
	var spools [3]*lineFile
	for i := range spools {
		s, err := newLineFile(c.options.Scratch)
		if err != nil {
			return fmt.Errorf("make a temporary file: %w", err)
		}
		defer s.close()
		spools[i] = s
	}
	rows, tasks, needs := spools[0], spools[1], spools[2]
	header, err := c.read(ctx, id, rows, tasks, needs)
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	size, err := rows.reader()
	if err != nil {
		return err
	}
	if err := c.sink.begin(ctx, header, c.total+size.Size()); err != nil {
		return err
	}
	lines, err := needs.reader()
	if err != nil {
		return err
	}
	err = eachLine(lines, func(line []byte) error {
		n, err := decodeNeed(line)
		if err != nil {
			return err
		}
		return c.copyVideo(ctx, n)
	})
	if err != nil {
		return err
	}
	if err := held(ctx); err != nil {
		return err
	}
	return c.sink.finish(ctx, tasks, rows, c.summary)
}

// read reads the database as it is now.
func (c *copier) read(ctx context.Context, id string, rows, tasks, needs *lineFile) (h Header, err error) {
	view, err := store.OpenSnapshot(ctx, c.source.Store)
	if err != nil {
		return h, err
	}
	defer view.Close()
	h = Header{Format: format, ID: id, Version: c.options.Version, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if h.Migrations, err = store.AppliedMigrations(ctx, view.Queries); err != nil {
		return h, err
	}
	err = compressed(rows, func(w io.Writer) error {
		c.summary.Rows, err = exportRows(ctx, view, schema{view.Queries, c.source.Store.SingleWriter()}, w)
		return err
	})
	if err != nil {
		return h, err
	}
	if err := c.readTasks(ctx, view, tasks); err != nil {
		return h, err
	}
	c.summary.Videos, c.total, err = writeNeeds(ctx, view, needs)
	return h, err
}

func (c *copier) readTasks(ctx context.Context, view *store.Snapshot, out *lineFile) error {
	return compressed(out, func(w io.Writer) error {
		list := json.NewEncoder(w)
		for t, err := range c.source.Queue.All(ctx, view) {
			if err != nil {
				return err
			}
			if err := list.Encode(taskLine{t.Kind, t.Video, t.Number, t.ID, t.Tenant, t.Endpoint, t.Priority}); err != nil {
				return err
			}
			c.summary.Tasks++
		}
		return nil
	})
}

// compressed has f write through gzip.
func compressed(to io.Writer, f func(io.Writer) error) error {
	z := gzip.NewWriter(to)
	if err := f(z); err != nil {
		return err
	}
	return z.Close()
}

// copyVideo copies the objects of a video.
func (c *copier) copyVideo(ctx context.Context, n need) error {
	keys := map[string]bool{} // that were copied
	if n.Source != "" {
		info, err := c.source.Blobs.Stat(ctx, n.Source)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return blob.ServiceError("find the source", err)
		}
		if err == nil {
			if keys[n.Source], err = c.copyObject(ctx, info, info.Key); err != nil {
				return err
			}
		}
	}
	for _, folder := range n.Folders {
		if err := c.copyFolder(ctx, folder, folder, keys); err != nil {
			return err
		}
	}
	missing := func(key string) bool { return !keys[key] && !keys[objects.Counterpart(key)] }
	if slices.ContainsFunc(n.Required, missing) { // isPublic may have changed since the rows were read
		if err := c.copyFolder(ctx, objects.Counterpart(n.Folders[0]), n.Folders[0], keys); err != nil {
			return err
		}
	}
	for _, key := range n.Required {
		if missing(key) {
			if err := c.explainMissing(ctx, n, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyFolder copies the objects of a folder under the keys of another one, and adds these to copied.
func (c *copier) copyFolder(ctx context.Context, from, to string, copied map[string]bool) error {
	var there []blob.Info
	for info, err := range c.source.Blobs.List(ctx, from) {
		if err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		there = append(there, info)
	}
	slices.SortFunc(there, func(a, b blob.Info) int { return strings.Compare(a.Key, b.Key) })
	for _, info := range there {
		as := to + strings.TrimPrefix(info.Key, from)
		if copied[as] {
			continue
		}
		var err error
		if copied[as], err = c.copyObject(ctx, info, as); err != nil {
			return err
		}
	}
	return nil
}

// copyObject copies an object under a key. It reports false if it is gone.
func (c *copier) copyObject(ctx context.Context, info blob.Info, as string) (bool, error) {
	named := info
	named.Key = as
	e, have, err := c.sink.findStored(ctx, named)
	if err != nil {
		return false, err
	}
	if !have {
		o, err := c.source.Blobs.Open(ctx, info.Key)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer o.Close()
		named = o.Info()
		named.Key = as
		if e, err = c.sink.put(ctx, named, o); err != nil {
			return false, fmt.Errorf("copy %s: %w", info.Key, err)
		}
	}
	c.options.Hook.Reach(failpoint.ObjectBackedUp)
	c.summary.Objects++
	c.summary.Bytes += e.Size
	c.options.Progress(c.summary.Objects, c.summary.Bytes, max(c.total, c.summary.Bytes))
	return true, nil
}

// checkStorage stops a backup of the wrong storage.
func (c *copier) checkStorage() error {
	if len(c.summary.Missing) > maxMissing {
		return fmt.Errorf("more than %d objects that the database names are not in the storage: is storage_url, or data_dir, the right one?", maxMissing)
	}
	return nil
}
