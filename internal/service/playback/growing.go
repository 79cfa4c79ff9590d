package playback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// growingVideo is a video that can be played although it is still being encoded, at one moment.
type growingVideo struct {
	video.Video
	steps   []store.Step
	version version
}

// growing returns a video that can be played while it is encoded, or nil for any other video. It asks the
// database: an object's name does not say how much of the video exists.
func (p *Player) growing(ctx context.Context, at place) (*growingVideo, error) {
	now, err := versionOf(ctx, p.store.Queries, at.video)
	if video.KindOf(err) == video.NotFound || err == nil && now.Deleted {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if now.Status != video.Processing || now.PlayableAt == 0 { // most of them: nothing else is read
		return nil, nil
	}
	if g := p.encoding.recentlyRead(at.video, now, p.now()); g != nil && objects.PlaybackArea(g.Video) == at.area {
		return g, nil
	}
	g, err := p.readGrowing(ctx, at)
	if err == nil && g != nil {
		g.version = now
		p.encoding.remember(g, p.now())
	}
	return g, err
}

// readGrowing reads all that the database knows of such a video.
func (p *Player) readGrowing(ctx context.Context, at place) (*growingVideo, error) {
	v, err := p.store.Video(ctx, at.video)
	if video.KindOf(err) == video.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !v.DeletedAt.IsZero() || objects.PlaybackArea(v) != at.area || v.Status != video.Processing ||
		v.PlayableAt.IsZero() || v.Plan == nil || v.Plan.Early == nil {
		return nil, nil
	}
	steps, err := p.store.Steps(ctx, at.video)
	return &growingVideo{Video: v, steps: steps}, err
}

// growingTrack opens a track, or returns nil if it cannot be played yet.
func (p *Player) growingTrack(ctx context.Context, g *growingVideo, name string) (*growingFile, error) {
	parts, ok := g.parts(name)
	if !ok || len(parts.Keys) == 0 {
		return nil, nil
	}
	pieces, err := p.encoding.read(ctx, parts.Keys, p.readPiece)
	if err != nil {
		return nil, err
	}
	segments, err := p.encoding.join(trackID{g.ID, name}, parts, pieces, func() (*mp4.Segments, error) {
		if stream.IsAudio(name) {
			return mp4.GrowingAudio(pieces, parts.All, g.Plan.Timescale)
		}
		return mp4.GrowingVideo(pieces, parts.All, mp4.Timing{Length: g.Plan.Duration, Delay: g.Plan.DecodeDelay(), Last: g.Plan.FrameTime(g.Plan.RenditionOf(video.Name(name)))})
	})
	if err != nil {
		return nil, fmt.Errorf("join what is there of %s of %s: %w", name, g.ID, err)
	}
	if len(segments.List()) == 0 {
		return nil, nil
	}
	return &growingFile{ctx: ctx, blobs: p.blobs, keys: parts.Keys, segments: segments, more: !parts.All}, nil
}

// parts returns the files of a track. It reports false if there is no such track, or if it should
// not be played yet: the large renditions grow more slowly than people watch, so each is offered when all of
// it is there.
func (g *growingVideo) parts(name string) (pipeline.Parts, bool) {
	if stream.IsAudio(name) {
		n := slices.IndexFunc(g.AudioTracks(), func(t video.AudioTrack) bool { return t.Name == name && t.Source == video.Embedded })
		if n < 0 || g.AudioTracks()[n].Number > g.Plan.Sounds() {
			return pipeline.Parts{}, false
		}
		return pipeline.AudioParts(g.Video, g.steps, g.AudioTracks()[n].Number-1), true
	}
	r, has := g.Resolution(video.Name(name))
	n := g.Plan.RenditionOf(video.Name(name))
	if !has || r.Status != video.Processing || n < g.Plan.First {
		return pipeline.Parts{}, false
	}
	parts := pipeline.VideoParts(g.Video, g.steps, n)
	return parts, parts.All || g.Plan.PlaysEarly(n)
}

func (p *Player) readPiece(ctx context.Context, key string) (*mp4.Piece, error) {
	o, err := p.blobs.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, blob.ServiceError("open chunk file", err)
	}
	defer o.Close()
	storage := &errorRecorder{ReaderAt: o}
	piece, err := mp4.ReadPiece(mp4.Input{ReaderAt: storage, Size: o.Info().Size})
	if storage.err != nil {
		return nil, blob.ServiceError("read chunk file", storage.err)
	}
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", key, err)
	}
	piece.ReaderAt = nil // only its tables are kept
	return piece, nil
}

// growingFile is what is there of a track, as if it were one object.
type growingFile struct {
	ctx      context.Context
	blobs    blob.Store
	keys     []string
	segments *mp4.Segments
	more     bool // segments will follow

	opened map[int]blob.Object
}

// open opens the objects that some parts are read from.
func (f *growingFile) open(parts []mp4.Part) error {
	f.opened = map[int]blob.Object{}
	for _, p := range parts {
		n, _ := mp4.PieceAt(p.From)
		if p.Bytes != nil || f.opened[n] != nil {
			continue
		}
		o, err := f.blobs.Open(f.ctx, f.keys[n])
		if err != nil {
			f.Close()
			return err
		}
		f.opened[n] = o
	}
	return nil
}

func (f *growingFile) Span(r blob.Range) io.ReadCloser {
	n, from := mp4.PieceAt(r.From)
	return f.opened[n].Span(blob.Range{From: from, To: from + r.To - r.From})
}

// Info has no modification time: what is there grows.
func (f *growingFile) Info() blob.Info {
	sum := sha256.New()
	for _, key := range f.keys {
		sum.Write([]byte(key))
	}
	return blob.Info{Key: f.keys[0], ETag: hex.EncodeToString(sum.Sum(nil)[:16])}
}

func (f *growingFile) Close() error {
	var err error
	for _, o := range f.opened {
		err = errors.Join(err, o.Close())
	}
	f.opened = nil
	return err
}
