package tus

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
)

// disk stores each upload in a file beside the object that it becomes.
type disk struct{ files filestore.FileStore }

// Disk stores uploads below dir, which must be the directory of the objects. So
// removing the objects of a video also removes its upload, and putting a file in
// place is a rename.
func Disk(dir string) (Storage, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &disk{filestore.New(dir)}, nil
}

func (d *disk) create(ctx context.Context, info handler.FileInfo) (handler.Upload, error) {
	info.Storage = map[string]string{"Path": filepath.FromSlash(info.ID) + ".part"}
	return d.files.NewUpload(ctx, info)
}

func (d *disk) open(ctx context.Context, key string) (handler.Upload, error) {
	u, err := d.files.GetUpload(ctx, key)
	if errors.Is(err, handler.ErrNotFound) {
		return d.openFinished(key)
	}
	if isCorrupt(err) { // after a power failure; then the file cannot be trusted, either
		return nil, handler.ErrNotFound
	}
	return u, err
}

// openFinished returns an upload whose record exists and whose file does not: the
// file was put in place.
func (d *disk) openFinished(key string) (handler.Upload, error) {
	record, err := os.ReadFile(filepath.Join(d.files.Path, filepath.FromSlash(key)+".info"))
	var info handler.FileInfo
	if err == nil {
		err = json.Unmarshal(record, &info)
	}
	if errors.Is(err, fs.ErrNotExist) || isCorrupt(err) || info.SizeIsDeferred {
		return nil, handler.ErrNotFound
	}
	info.Offset = info.Size
	return finished{info: info}, err
}

func isCorrupt(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

func (d *disk) checkSpace(s Services, length int64) error { return s.Space.Check(length) }

func (d *disk) file(info handler.FileInfo) string { return info.Storage["Path"] }

func (d *disk) isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// finished is an upload whose file was put in place.
type finished struct {
	handler.Upload // nil: tusd calls no other method of a complete upload
	info           handler.FileInfo
}

func (f finished) GetInfo(context.Context) (handler.FileInfo, error) { return f.info, nil }

// WriteChunk is called if the file is not in place after all.
func (f finished) WriteChunk(context.Context, int64, io.Reader) (int64, error) {
	return 0, fs.ErrNotExist
}
