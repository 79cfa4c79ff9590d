package playback

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/video"
)

// textTracks returns the captions of a video, as its streams list them. Their languages and labels are in
// the database. A viewer can do without them, so a database that does not answer stops no viewer.
func (p *Player) textTracks(ctx context.Context, id video.ID) []stream.Text {
	files, err := filesOf(ctx, p.store.Queries, id)
	if err != nil {
		return nil
	}
	var all []stream.Text
	for _, f := range files {
		if name, ok := stream.TextName(f.Name); ok && f.IsCaptions() {
			all = append(all, stream.Text{Name: name, Language: f.Language, Label: f.Label, Captions: f.Kind == video.CaptionsKind})
		}
	}
	return all
}

// maxTextSegment is behind the last segment of text that a video can have.
const maxTextSegment = int(1000 * time.Hour / stream.TextLength)

// findText finds a file of a stream that is made from the captions in one language, which are stored as one file.
func (p *Player) findText(ctx context.Context, at place, f stream.File) (*document, error) {
	info, err := p.blobs.Stat(ctx, at.prefix()+f.Track+".vtt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noSuchFile()
	}
	if err != nil {
		return nil, blob.ServiceError("find captions", err)
	}
	if f.Kind == stream.TextSegment {
		return p.findTextSegment(ctx, at, f, info)
	}
	s, err := p.sources(ctx, at)
	if err != nil {
		return nil, err
	}
	d := p.document(newDocumentID(f, info.Key, s.version(), at.part), info.Modified, func(ctx context.Context) (func() ([]byte, error), error) {
		present, err := p.readSources(ctx, at, s)
		return func() ([]byte, error) {
			show := present()
			list := stream.NewTextPlaylist(f.Track, show.Micros(), show.Target(), show.Live != nil)
			list.Prefix = at.names()
			if !at.part.All() {
				of, err := partOf(show, at)
				return list.Part(of).Encode(), err
			}
			return list.Encode(), nil
		}, err
	})
	d.grows = s.growing != nil
	return d, nil
}

// findTextSegment finds a segment of captions. There are segments up to the end of the video, as far as it is
// there, and up to the end of the last text.
func (p *Player) findTextSegment(ctx context.Context, at place, f stream.File, captions blob.Info) (*document, error) {
	if f.Number >= maxTextSegment {
		return nil, noSuchFile()
	}
	const each = int64(stream.TextLength / time.Second) // the video has segments of its own: one more at each end
	if n := int64(f.Number); at.bound && !at.part.Shows((n-1)*each, (n+2)*each, 1) {
		return nil, previewOnly()
	}
	read := func(ctx context.Context) (*cachedText, error) {
		return p.captionsOf(ctx, textVersion{captions.Key, captions.ETag}, func() ([]byte, error) { return p.readText(ctx, captions.Key) })
	}
	from := time.Duration(f.Number) * stream.TextLength
	d := p.document(newDocumentID(f, captions.Key, captions.ETag), captions.Modified, func(ctx context.Context) (func() ([]byte, error), error) {
		text, err := read(ctx)
		return func() ([]byte, error) { return webvtt.EncodeSegment(text.cues, from, from+stream.TextLength), nil }, err
	})
	if d.info.Size != UnknownSize {
		return d, nil
	}
	text, err := read(ctx)
	if err != nil || from < text.end {
		return d, err
	}
	length, err := p.lengthOf(ctx, at)
	if err == nil && from >= length {
		err = noSuchFile()
	}
	return d, err
}

// readText reads captions.
func (p *Player) readText(ctx context.Context, key string) ([]byte, error) {
	file, err := p.blobs.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noSuchFile()
	}
	if err != nil {
		return nil, blob.ServiceError("open captions", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, webvtt.MaxSize+1))
	if err != nil {
		return nil, blob.ServiceError("read captions", err)
	}
	return text, nil
}
