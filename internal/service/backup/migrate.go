package backup

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
)

// sumReader makes the checksum of what is read.
type sumReader struct {
	r      io.Reader
	sum    hash.Hash
	failed error // of reading, in contrast to what is done with it
}

func newSum(r io.Reader) *sumReader { return &sumReader{r: r, sum: sha256.New()} }

// Read implements io.Reader.
func (s *sumReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	if err != nil && err != io.EOF {
		s.failed = err
	}
	return n, err
}

func (s *sumReader) hex() string { return hexSum(s.sum) }

// targetSink copies directly into another database and storage. Every object is read back and compared.
// What an earlier run has copied is compared, and not copied again.
type targetSink struct {
	target *Target
	source blob.Store
	store  *store.Store
}

func (s *targetSink) begin(ctx context.Context, h Header, _ int64) (err error) {
	s.store, err = s.target.begin(ctx, h)
	return err
}

// findStored compares an object that is there with the source.
func (s *targetSink) findStored(ctx context.Context, info blob.Info) (entry, bool, error) {
	there, err := s.target.Blobs.Stat(ctx, info.Key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && there.Size != info.Size {
		return entry{}, false, nil
	}
	if err != nil {
		return entry{}, false, err
	}
	want, err := checksumOf(ctx, s.source, info.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, false, nil
	}
	if err != nil {
		return entry{}, false, err
	}
	got, err := checksumOf(ctx, s.target.Blobs, info.Key)
	return entry{Name: objectsRoot + info.Key, Size: info.Size, SHA256: want}, got == want, err
}

func (s *targetSink) put(ctx context.Context, info blob.Info, r io.Reader) (entry, error) {
	read := newSum(r)
	there, err := s.target.Blobs.Put(ctx, info.Key, read)
	if err != nil {
		return entry{}, err
	}
	got, err := checksumOf(ctx, s.target.Blobs, info.Key)
	if err != nil {
		return entry{}, err
	}
	if there.Size != info.Size || got != read.hex() {
		return entry{}, fmt.Errorf("it arrived as something else: %d bytes with checksum %s instead of %d with %s", there.Size, got, info.Size, read.hex())
	}
	return entry{Name: objectsRoot + info.Key, Size: info.Size, SHA256: got}, nil
}

// checksumOf reads an object and returns its checksum.
func checksumOf(ctx context.Context, blobs blob.Store, key string) (string, error) {
	o, err := blobs.Open(ctx, key)
	if err != nil {
		return "", err
	}
	defer o.Close()
	sum := sha256.New()
	_, err = io.CopyBuffer(sum, struct{ io.Reader }{&interruptible{ctx, o}}, make([]byte, 256<<10))
	return hexSum(sum), err
}

func (s *targetSink) finish(ctx context.Context, tasks, rows *lineFile, sum *Summary) error {
	if len(sum.Missing) > 0 {
		return fmt.Errorf("%d objects that the database names are not in the storage, the first is %s: nothing was moved", len(sum.Missing), sum.Missing[0])
	}
	err := unzipped(rows, func(r io.Reader) error {
		return storeRows(ctx, s.store, r, func() (*Summary, error) { return sum, nil })
	})
	if err = errors.Join(err, s.store.Close()); err != nil {
		return err
	}
	s.store = nil
	return unzipped(tasks, func(r io.Reader) error { return s.target.finish(ctx, r, sum) })
}

// unzipped gives f the content of a compressed spool.
func unzipped(s *lineFile, f func(io.Reader) error) error {
	r, err := s.reader()
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	return f(z)
}

func (s *targetSink) abandon() {
	if s.store != nil {
		s.store.Close()
	}
}

// Migrate copies everything from one database and storage into others. The source stays as it is.
// It must not be in use meanwhile.
func Migrate(ctx context.Context, src Source, t *Target, o Options) (*Summary, error) {
	return run(ctx, src, &targetSink{target: t, source: src.Blobs}, o)
}

// OtherSessions returns how many connections other processes of Spool have to the database. The caller
// does not count itself, because it connects with another application_name. For SQLite it returns 0: its file has a
// lock of its own.
func OtherSessions(ctx context.Context, s *store.Store) (n int, err error) {
	if s.SingleWriter() {
		return 0, nil
	}
	err = s.QueryRow(ctx, `
		SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'spool'`).Scan(&n)
	return n, store.Wrap("look for other processes", err)
}
