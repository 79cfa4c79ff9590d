package playback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
)

// cutCacheSize is how much memory the heads of segments may take that are being watched. The head of a
// segment of six seconds takes some 3 KB.
const cutCacheSize = 16 << 20

// cut is a segment: where its bytes are, and their ETag. It is not changed.
type cut struct {
	parts []mp4.Part
	etag  string
}

func newCut(parts []mp4.Part, of blob.Info) cut {
	hash := sha256.New()
	hash.Write([]byte(of.ETag))
	for _, p := range parts {
		hash.Write(p.Bytes)
	}
	return cut{parts, hex.EncodeToString(hash.Sum(nil)[:16])}
}

// footprint is about how much memory c takes.
func (c cut) footprint() int64 {
	size := int64(200)
	for _, p := range c.parts {
		size += int64(cap(p.Bytes)) + 40
	}
	return size
}

// cutID names a segment of one version of a rendition file.
type cutID struct {
	key, etag string
	track     string
	frame     bool
	number    int
}

func newCutID(of blob.Info, f stream.File) cutID {
	return cutID{of.Key, of.ETag, f.Track, f.Kind == stream.Frame, f.Number}
}

// cutOf returns a segment that is cached, or calls read: making the head of one takes as long as sending
// 100 KB. The cache does not know whether a file still exists: the caller has opened it.
func (p *Player) cutOf(ctx context.Context, id cutID, read func() (cut, error)) (cut, error) {
	id.track = strings.Clone(id.track) // not the whole path that it is a part of
	return p.cuts.Do(ctx, id, func() (cut, int64, error) {
		found, err := read()
		return found, found.footprint(), err
	})
}
