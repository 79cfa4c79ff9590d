package playback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/limit"
)

// documentCacheSize is how much memory the playlists and the segments of captions may take that are being
// watched. The playlist of a video of two hours has some 60 KB.
const documentCacheSize = 32 << 20

// documentFormat is part of each document's version. A change of what playlists or segments of captions say
// raises it, so that no cache keeps the older ones.
const documentFormat = 1

// documentID names a file of a stream, and what it is made from: the ETags of all files.
type documentID struct{ file, version string }

// newDocumentID returns the ID of a file that is made from these.
func newDocumentID(f stream.File, from ...any) documentID {
	sum := sha256.Sum256(fmt.Append(nil, documentFormat, fmt.Sprintf("%#v", from)))
	// A copy of the name: it is a part of the whole path.
	return documentID{strings.Clone(fmt.Sprintf("%d/%s/%d", f.Kind, f.Track, f.Number)), hex.EncodeToString(sum[:])}
}

func (id documentID) etag() string {
	sum := sha256.Sum256([]byte(id.file + " " + id.version))
	return hex.EncodeToString(sum[:16])
}

// gather reads what a document is made from, and returns how it is made.
type gather func(ctx context.Context) (encode func() ([]byte, error), err error)

// document returns a file of a stream, which is made once for all who ask for it.
func (p *Player) document(id documentID, modified time.Time, read gather) *document {
	d := &document{info: blob.Info{ETag: id.etag(), Modified: modified, Size: UnknownSize}}
	if content, ok := p.documents.Get(id); ok {
		d.info.Size = int64(len(content))
	}
	d.make = func(ctx context.Context) ([]byte, error) { return p.makeDocument(ctx, id, read) }
	return d
}

// makeDocument returns the bytes of a document. They are kept in memory until the request ends, which counts
// for its client.
func (p *Player) makeDocument(ctx context.Context, id documentID, read gather) ([]byte, error) {
	content, ok := p.documents.Get(id)
	if !ok {
		reading, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		encode, err := read(reading)
		if err != nil {
			return nil, err
		}
		content, err = costly(ctx, p.documents, id, func() ([]byte, int64, error) {
			text, err := encode()
			return text, int64(len(text)), err
		})
		if err != nil {
			return nil, err
		}
	}
	return content, limit.TurnOf(ctx).Memory(ctx, int64(len(content)))
}

// costly returns a value that is cached, or makes it in a place for costly computing. Who makes it has the
// place already, so those who wait for it do not wait for another client's share.
func costly[K comparable, V any](ctx context.Context, c *cache.Cache[K, V], key K, produce func() (V, int64, error)) (V, error) {
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	turn := limit.TurnOf(ctx)
	if err := turn.Work(ctx); err != nil {
		var none V
		return none, err
	}
	defer turn.EndWork()
	return c.Do(ctx, key, produce)
}
