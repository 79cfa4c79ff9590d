package app

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Claim marks the storage as that of this database.
//
// A sweep removes what its database does not know. Beside another database than
// the one that the objects belong to, because a setting was forgotten, a lost one
// was made anew or two services were given one bucket, that would be every film.
// So each database leaves a mark, and nothing is swept where there is more than one.
func (a *App) Claim(ctx context.Context) error {
	mine, all, err := a.marks(ctx)
	if err != nil || slices.Contains(all, mine) {
		return err
	}
	if _, err := a.blobs.Put(ctx, mine, bytes.NewReader(nil)); err != nil {
		return storageError("mark the storage", err)
	}
	return nil
}

// sharedError names the marks of other databases in the same storage.
type sharedError []string

func (e sharedError) Error() string {
	return "films of another database are in the same storage. Is database_url, or data_dir, the right one? " +
		"If that database is gone for good and its films with it, remove its mark: " + strings.Join(e, ", ")
}

// alone fails when other databases have marked the storage.
func (a *App) alone(ctx context.Context) error {
	mine, all, err := a.marks(ctx)
	if err != nil {
		return err
	}
	if others := slices.DeleteFunc(all, func(key string) bool { return key == mine }); len(others) > 0 {
		return sharedError(others)
	}
	return nil
}

// marks returns the mark of this database, and all that are there.
func (a *App) marks(ctx context.Context) (mine string, all []string, err error) {
	id, err := a.store.Identity(ctx, a.newID())
	if err != nil {
		return "", nil, fmt.Errorf("find out which database this is: %w", err)
	}
	for info, err := range a.blobs.List(ctx, ownerPlace+"/") {
		if err != nil {
			return "", nil, storageError("find out whose storage this is", err)
		}
		all = append(all, info.Key)
	}
	return path.Join(ownerPlace, id), all, nil
}
