package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// Target is where a copy is filled in. The functions open its database, in this order.
type Target struct {
	Blobs blob.Store

	// Examine looks at the database without changing it.
	Examine func(ctx context.Context) (Found, error)
	// Create makes the database with the schema after these migrations. What an unfinished restore
	// left is removed first, all but its mark and its id (DropTables).
	Create func(ctx context.Context, migrations []string) (*store.Store, error)
	// Open opens the database with the newest schema, and its queue.
	Open func(ctx context.Context) (*store.Store, queue.Queue, error)

	KeepWebhooks bool // leave them enabled
	Hook         failpoint.Hook
}

// ErrNotEmpty means that there is something where a copy should go.
var ErrNotEmpty = errors.New("the target is not empty")

// begin makes an empty database that belongs to this restore, and marks the storage as its own.
func (t *Target) begin(ctx context.Context, h Header) (*store.Store, error) {
	found, err := t.Examine(ctx)
	if err != nil {
		return nil, err
	}
	if found.Used && !found.Unfinished {
		return nil, fmt.Errorf("%w: its database has the tables of a Spool; name an empty one", ErrNotEmpty)
	}
	id := found.ID
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	if err := t.checkStorage(ctx, id, found.ID != ""); err != nil {
		return nil, err
	}
	st, err := t.Create(ctx, h.Migrations)
	if err != nil {
		return nil, err
	}
	t.Hook.Reach(failpoint.DatabaseMade)
	if err := beginRestore(ctx, st, id, time.Now()); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if _, err := t.Blobs.Put(ctx, objects.Marker(id), bytes.NewReader(nil)); err != nil {
		return nil, errors.Join(blob.ServiceError("mark the storage", err), st.Close())
	}
	return st, nil
}

// checkStorage refuses a storage that has objects, unless an unfinished restore has put them there.
func (t *Target) checkStorage(ctx context.Context, id string, unfinished bool) error {
	prefix := ""
	if unfinished {
		prefix = objects.Markers
	}
	for info, err := range t.Blobs.List(ctx, prefix) {
		if err != nil {
			return fmt.Errorf("look into the storage: %w", err)
		}
		if !unfinished || info.Key != objects.Marker(id) {
			return fmt.Errorf("%w: its storage has the object %s; name an empty folder, or another prefix in the bucket", ErrNotEmpty, info.Key)
		}
	}
	return nil
}

// checkKey refuses what is not an object of a video: above all, ownership markers of other databases.
func checkKey(key string) error {
	area, in, rest, ok := objects.Parse(key)
	if !ok || !slices.Contains(objects.Areas, area) || in == "" || rest == "" {
		return fmt.Errorf("%q is not the name of an object", key)
	}
	return nil
}

// storeRows stores the rows of a backup in one transaction, if verify agrees.
func storeRows(ctx context.Context, st *store.Store, rows io.Reader, verify func() (*Summary, error)) error {
	return importRows(ctx, st, rows, func(stored map[string]int64) error {
		summary, err := verify()
		if err != nil {
			return err
		}
		if !maps.Equal(stored, summary.Rows) {
			return fmt.Errorf("there are %v rows instead of %v", stored, summary.Rows)
		}
		return nil
	})
}

// disabledReason is what a webhook says that was restored.
const disabledReason = "Restored from a backup: enable it when the original does not send any more."

// finish adapts the rows to their new place, enqueues the tasks, and lets the database be used.
func (t *Target) finish(ctx context.Context, tasks io.Reader, s *Summary) (err error) {
	st, q, err := t.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	t.Hook.Reach(failpoint.RowsRestored)
	if err := t.applyChanges(ctx, st, q, s); err != nil {
		return err
	}
	if err := enqueueAll(ctx, st, q, tasks); err != nil {
		return err
	}
	return st.InTx(ctx, func(tx *store.Tx) error { return endRestore(ctx, tx) })
}

// applyChanges does what clients did while the backup ran, and quiets webhooks.
func (t *Target) applyChanges(ctx context.Context, st *store.Store, q queue.Queue, s *Summary) error {
	passes := pipeline.NewPasses(pipeline.Config{KeepSource: true}, st, q, t.Blobs, time.Now, slog.New(slog.DiscardHandler),
		func(video.Status, *video.Failure) {})
	return st.InTx(ctx, func(tx *store.Tx) error {
		if !t.KeepWebhooks {
			if err := webhook.DisableAll(ctx, tx, disabledReason); err != nil {
				return err
			}
		}
		if err := adaptRows(ctx, tx); err != nil {
			return err
		}
		for _, id := range s.Deleted {
			if err := tx.RemoveVideo(ctx, id); err != nil {
				return err
			}
		}
		for _, key := range s.Removed {
			if err := forget(ctx, tx, passes, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// forget removes from a video what a client has removed: a resolution, or a file that it lists.
func forget(ctx context.Context, tx *store.Tx, passes *pipeline.Passes, key string) error {
	_, in, name, _ := objects.Parse(key)
	id, err := tx.OwnerOf(ctx, in)
	if video.KindOf(err) == video.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := tx.Video(ctx, id)
	if video.KindOf(err) == video.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	file, ok := objects.ParseFile(name)
	if !ok {
		return nil
	}
	if file.Listed != "" {
		return tx.SetFindings(ctx, id, store.Findings{Files: v.WithoutFile(file.Listed)})
	}
	r, has := v.Resolution(file.Resolution)
	if !has {
		return nil
	}
	if err := tx.RemoveResolution(ctx, r.ID); err != nil {
		return err
	}
	return passes.ResolutionDeleted(ctx, tx, id)
}

// taskBatch is how many tasks are enqueued in one transaction.
const taskBatch = 200

// enqueueAll enqueues the tasks of a backup. A task whose name waits already is skipped, so it may be
// repeated.
func enqueueAll(ctx context.Context, st *store.Store, q queue.Queue, lines io.Reader) error {
	var batch []queue.Task
	flush := func() error {
		err := st.InTx(ctx, func(tx *store.Tx) error { return q.Enqueue(ctx, tx, batch...) })
		batch = batch[:0]
		return err
	}
	err := eachLine(lines, func(line []byte) error {
		var t taskLine
		if err := json.Unmarshal(line, &t); err != nil {
			return fmt.Errorf("read a task: %w", err)
		}
		if batch = append(batch, t.task()); len(batch) < taskBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// Restore fills a target from a backup. scratch is a folder for a few temporary files.
func Restore(ctx context.Context, path, snapshot string, t *Target, scratch string, p Progress) (Header, *Summary, error) {
	dir, file, err := locate(path, snapshot)
	if err != nil {
		return Header{}, nil, err
	}
	r, err := openTar(ctx, file, scratch)
	if err != nil {
		return Header{}, nil, err
	}
	defer r.close()
	if err := t.checkSpace(file); err != nil {
		return r.header, nil, err
	}
	st, err := t.begin(ctx, r.header)
	if err != nil {
		return r.header, nil, err
	}
	tasks, err := newLineFile(scratch)
	if err != nil {
		return r.header, nil, errors.Join(fmt.Errorf("make a temporary file: %w", err), st.Close())
	}
	defer tasks.close()
	f := &filler{target: t, store: st, progress: p, tasks: tasks}
	if dir != "" {
		err = f.fromFolder(ctx, dir, file, scratch)
	}
	var summary *Summary
	if err == nil {
		summary, err = r.read(f.members(ctx, dir))
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return r.header, nil, err
	}
	lines, err := tasks.reader()
	if err != nil {
		return r.header, nil, err
	}
	return r.header, summary, t.finish(ctx, lines, summary)
}

// checkSpace refuses a file that does not fit. The objects of a folder are counted as they come.
func (t *Target) checkSpace(file string) error {
	free := t.Blobs.Capabilities().Free
	if free == nil {
		return nil
	}
	fi, err := os.Stat(file)
	if err != nil {
		return err
	}
	if n, err := free(); err != nil || n < uint64(fi.Size()) {
		return errors.Join(err, fmt.Errorf("the disk has %s free, and the backup has %s: make space, or restore elsewhere", humanize.Bytes(n), humanize.Bytes(uint64(fi.Size()))))
	}
	return nil
}

// filler puts the parts of a backup where they belong.
type filler struct {
	target   *Target
	store    *store.Store
	progress Progress
	tasks    *lineFile

	objects, bytes int64
}

// members are what is done with the parts of a tar file.
func (f *filler) members(ctx context.Context, dir string) members {
	do := members{
		object: func(key string, size int64, r io.Reader) error { return f.put(ctx, key, size, r) },
		tasks: func(r io.Reader) error {
			_, err := io.Copy(f.tasks, r)
			return err
		},
		rows: func(rows io.Reader, verify func() (*Summary, error)) error {
			return storeRows(ctx, f.store, rows, verify)
		},
	}
	if dir != "" {
		do.stored = func(entry) error { return nil } // fromFolder has checked them
	}
	return do
}

// put stores an object.
func (f *filler) put(ctx context.Context, key string, size int64, r io.Reader) error {
	if err := checkKey(key); err != nil {
		return err
	}
	info, err := f.target.Blobs.Put(ctx, key, r)
	if errors.Is(err, blob.ErrFull) {
		return fmt.Errorf("the disk is full: make space and restore again: %w", err)
	}
	if err != nil {
		return err
	}
	if info.Size != size {
		return fmt.Errorf("%s has %d bytes instead of %d: %w", key, info.Size, size, io.ErrUnexpectedEOF)
	}
	f.target.Hook.Reach(failpoint.ObjectRestored)
	f.objects, f.bytes = f.objects+1, f.bytes+size
	if f.progress != nil {
		f.progress(f.objects, f.bytes, 0)
	}
	return nil
}

// fromFolder stores the objects of a folder, each compared with its checksum, before the rows.
func (f *filler) fromFolder(ctx context.Context, dir, file, scratch string) error {
	r, err := openTar(ctx, file, scratch)
	if err != nil {
		return err
	}
	defer r.close()
	_, err = r.read(members{stored: func(e entry) error { return markDamage(dir, f.putStored(ctx, dir, e)) }})
	return err
}

func (f *filler) putStored(ctx context.Context, dir string, e entry) error {
	key, ok := strings.CutPrefix(e.Name, objectsRoot)
	if !ok {
		return &DamagedError{path: dir, why: "the name of an object is wrong"}
	}
	file, err := openStored(dir, e)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := newSum(file)
	if err := f.put(ctx, key, e.Size, sum); sum.failed != nil {
		return unreadableObject(dir, e, sum.failed)
	} else if err != nil {
		return err
	}
	if sum.hex() != e.SHA256 {
		return damagedObject(dir, "the checksum of "+e.Name+" is wrong")
	}
	return nil
}
