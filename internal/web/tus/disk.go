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

// disk gathers pieces in a file beside the one that they become.
type disk struct{ files filestore.FileStore }

// Disk gathers pieces below dir, which must be the folder of the objects: there
// whoever removes the objects of a video finds them, and putting a file in place
// moves no byte.
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
		return d.placed(key)
	}
	if isGarbled(err) { // a power cut left a part of it; the file may be any file's
		return nil, handler.ErrNotFound
	}
	return u, err
}

// placed returns an upload whose record is there and whose file is not: it was
// put in place.
func (d *disk) placed(key string) (handler.Upload, error) {
	record, err := os.ReadFile(filepath.Join(d.files.Path, filepath.FromSlash(key)+".info"))
	var info handler.FileInfo
	if err == nil {
		err = json.Unmarshal(record, &info)
	}
	if errors.Is(err, fs.ErrNotExist) || isGarbled(err) || info.SizeIsDeferred {
		return nil, handler.ErrNotFound
	}
	info.Offset = info.Size
	return placed{info: info}, err
}

func isGarbled(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

func (d *disk) room(s Service, length int64) error { return s.RoomForPiece(length) }

func (d *disk) file(info handler.FileInfo) string { return info.Storage["Path"] }

func (d *disk) gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// placed is an upload that is over.
type placed struct {
	handler.Upload // nil: nothing else is asked of one that has all its bytes
	info           handler.FileInfo
}

func (p placed) GetInfo(context.Context) (handler.FileInfo, error) { return p.info, nil }

// WriteChunk is asked for when the file is not in place after all.
func (p placed) WriteChunk(context.Context, int64, io.Reader) (int64, error) {
	return 0, fs.ErrNotExist
}
