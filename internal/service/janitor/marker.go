package janitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
)

// Marker is the ownership marker of this database in the storage.
type Marker struct {
	store *store.Store
	blobs blob.Store
}

// NewMarker returns the marker of a database in a storage.
func NewMarker(s *store.Store, blobs blob.Store) *Marker { return &Marker{store: s, blobs: blobs} }

// Write marks the storage as belonging to this database.
func (m *Marker) Write(ctx context.Context) error {
	own, all, err := m.list(ctx)
	if err != nil {
		return err
	}
	place, err := m.store.Place(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(all, own) {
		if before, err := m.read(ctx, own); err != nil || before == place {
			return err
		}
	}
	if _, err := m.blobs.Put(ctx, own, strings.NewReader(place)); err != nil {
		return blob.ServiceError("mark the storage", err)
	}
	return nil
}

// Moved reports whether the database was somewhere else when it marked the storage last: it was moved, or
// this is a copy, and the original uses the storage, too.
func (m *Marker) Moved(ctx context.Context) (bool, error) {
	place, err := m.store.Place(ctx)
	if err != nil || place == "" {
		return false, err
	}
	own, all, err := m.list(ctx)
	if err != nil || !slices.Contains(all, own) {
		return false, err
	}
	before, err := m.read(ctx, own)
	return before != "" && before != place, err
}

// read returns the place that a marker names; "" if the marker is gone, or names none.
func (m *Marker) read(ctx context.Context, key string) (string, error) {
	const longest = 1000
	o, err := m.blobs.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", blob.ServiceError("read the ownership marker", err)
	}
	defer o.Close()
	text, err := io.ReadAll(io.LimitReader(o, longest))
	if err != nil {
		return "", blob.ServiceError("read the ownership marker", err)
	}
	return string(text), nil
}

// sharedError names the markers of other databases in the same storage.
type sharedError []string

func (e sharedError) Error() string {
	return "videos of another database are in the same storage. Is database_url, or data_dir, the right one? " +
		"If that database is gone for good and its videos with it, remove its marker: " + strings.Join(e, ", ")
}

// checkExclusive fails when other databases have marked the storage.
func (m *Marker) checkExclusive(ctx context.Context) error {
	own, all, err := m.list(ctx)
	if err != nil {
		return err
	}
	if others := slices.DeleteFunc(all, func(key string) bool { return key == own }); len(others) > 0 {
		return sharedError(others)
	}
	return nil
}

// list returns the marker of this database, and all that are there.
func (m *Marker) list(ctx context.Context) (own string, all []string, err error) {
	id, err := m.store.Identity(ctx, uuid.Must(uuid.NewV7()).String())
	if err != nil {
		return "", nil, fmt.Errorf("read the identity of the database: %w", err)
	}
	for info, err := range m.blobs.List(ctx, objects.Markers) {
		if err != nil {
			return "", nil, blob.ServiceError("list the ownership markers", err)
		}
		all = append(all, info.Key)
	}
	return objects.Marker(id), all, nil
}
