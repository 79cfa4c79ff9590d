package app

import (
	"bytes"
	"context"
	"fmt"
	"path"
)

// Claim makes the storage that of this database, or fails when it is another's.
//
// A sweep removes what the database does not know. Beside another database than
// the one that the objects belong to, because a setting was forgotten or a lost
// one was made anew, that would be everything, at the first start. So an object
// names the database that the storage belongs to, and nobody starts beside another.
func (a *App) Claim(ctx context.Context) error {
	id, err := a.store.Identity(ctx, a.newID())
	if err != nil {
		return err
	}
	var other string
	for info, err := range a.blobs.List(ctx, ownerPlace+"/") {
		if err != nil {
			return storageError("find out whose storage this is", err)
		}
		if path.Base(info.Key) == id {
			return nil
		}
		other = info.Key
	}
	if other != "" {
		return fmt.Errorf("the storage belongs to another database than this one, which would take all films for left-overs and remove them: "+
			"set database_url, or data_dir, to the right one or restore it. Only if it is gone for good, remove the object %s", other)
	}
	if _, err := a.blobs.Put(ctx, ownerPlace+"/"+id, bytes.NewReader(nil)); err != nil {
		return storageError("claim the storage", err)
	}
	return nil
}
