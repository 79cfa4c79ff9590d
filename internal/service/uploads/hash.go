package uploads

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// The SHA-256 of a file is computed while its bytes pass, so no file is read a second time for it. Between the requests
// of a resumable upload the state of the hash is a row, which follows the bytes that are stored. Where the two may
// differ, after a crash for example, the row goes and the file has no hash: a wrong one would be worse. A hash counts
// for the object whose ETag it was stored with, so it never meets another file.

// runningHash is the hash of the first bytes of a resumable upload.
type runningHash struct {
	hash.Hash
	token string // identifies the upload
	begun int64  // bytes that it had before this request
	bytes int64
}

// Write hashes bytes that are being stored. It implements io.Writer.
func (h *runningHash) Write(p []byte) (int, error) {
	h.bytes += int64(len(p))
	return h.Hash.Write(p)
}

// Hashed has write store what src yields at an offset of a resumable upload, and hashes it.
func (s *Service) Hashed(ctx context.Context, id video.ID, offset int64, src io.Reader, write func(io.Reader) (int64, error)) (int64, error) {
	h := s.hashAt(ctx, id, offset)
	if h == nil {
		return write(src)
	}
	n, err := write(io.TeeReader(src, h))
	if err == nil && n == 0 {
		return 0, nil
	}
	s.changeHash(ctx, id, func(ctx context.Context, tx *store.Tx) error {
		if err == nil && h.bytes == offset+n {
			return saveHash(ctx, tx, id, h)
		}
		return dropHash(ctx, tx, id)
	})
	return n, err
}

// hashAt returns the hash of the first bytes of an upload, or nil if it is not known.
func (s *Service) hashAt(ctx context.Context, id video.ID, offset int64) *runningHash {
	h, err := readHash(ctx, s.store.Queries, id, offset)
	if err != nil {
		s.log.WarnContext(ctx, "could not read the hash of an upload; the file has none", "video", id, "err", err)
	}
	return h
}

// changeHash changes the row of a hash. A file without a hash is no reason to refuse the upload. The bytes are there,
// whether or not the client still is.
func (s *Service) changeHash(ctx context.Context, id video.ID, change func(context.Context, *store.Tx) error) {
	ctx = context.WithoutCancel(ctx)
	if err := s.store.InTx(ctx, func(tx *store.Tx) error { return change(ctx, tx) }); err != nil {
		s.log.WarnContext(ctx, "could not store the hash of an upload; the file has none", "video", id, "err", err)
	}
}

// beginHash begins the hash of a resumable upload that has no bytes yet.
func (s *Service) beginHash(ctx context.Context, id video.ID) {
	s.changeHash(ctx, id, func(ctx context.Context, tx *store.Tx) error {
		return insertHash(ctx, tx, id, &runningHash{Hash: sha256.New(), token: rand.Text()})
	})
}

// finishHash records the hash of a resumable upload whose file is in place.
func (s *Service) finishHash(ctx context.Context, id video.ID, file blob.Info) {
	if h := s.hashAt(ctx, id, file.Size); h != nil {
		s.storeHash(ctx, id, file, h)
	}
}

// storeHash records the hash of a file that is in place.
func (s *Service) storeHash(ctx context.Context, id video.ID, file blob.Info, h hash.Hash) {
	s.changeHash(ctx, id, func(ctx context.Context, tx *store.Tx) error {
		return insertWholeHash(ctx, tx, id, file.ETag, hex.EncodeToString(h.Sum(nil)))
	})
}
