package backup

import (
	"context"
	"crypto/sha256"
	"io"
	"path/filepath"
)

// Verify reads a whole backup and compares everything with its checksums. snapshot chooses one of a
// folder; empty: the newest.
func Verify(ctx context.Context, path, snapshot string, p Progress) (Header, *Summary, error) {
	dir, file, err := locate(path, snapshot)
	if err != nil {
		return Header{}, nil, err
	}
	r, err := openTar(ctx, file, "")
	if err != nil {
		return Header{}, nil, err
	}
	defer r.close()
	var objects, bytes int64
	count := func(size int64) {
		objects, bytes = objects+1, bytes+size
		if p != nil {
			p(objects, bytes, 0)
		}
	}
	do := members{
		object: func(_ string, size int64, _ io.Reader) error { count(size); return nil },
		rows: func(rows io.Reader, verify func() (*Summary, error)) error {
			if _, err := io.Copy(io.Discard, rows); err != nil {
				return err
			}
			_, err := verify()
			return err
		},
	}
	if dir != "" {
		do.stored = func(e entry) error {
			count(e.Size)
			return markDamage(dir, checkStored(ctx, dir, e))
		}
	}
	summary, err := r.read(do)
	return r.header, summary, err
}

// Inspect reads what a backup says about itself, and compares nothing.
func Inspect(ctx context.Context, path, snapshot string) (Header, error) {
	_, file, err := locate(path, snapshot)
	if err != nil {
		return Header{}, err
	}
	r, err := openTar(ctx, file, "")
	if err != nil {
		return Header{}, err
	}
	r.close()
	return r.header, nil
}

// locate returns the tar file of a backup, and the folder that its objects are in, if it has one.
func locate(path, snapshot string) (dir, file string, err error) {
	if !IsFolder(path) {
		return "", path, nil
	}
	dir = filepath.Clean(path)
	file, err = choose(dir, snapshot)
	return dir, file, err
}

// checkStored compares an object of a folder with its checksum.
func checkStored(ctx context.Context, dir string, e entry) error {
	f, err := openStored(dir, e)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, &interruptible{ctx, f})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return unreadableObject(dir, e, err)
	}
	if n != e.Size || hexSum(sum) != e.SHA256 {
		return damagedObject(dir, "the checksum of "+e.Name+" is wrong")
	}
	return nil
}
