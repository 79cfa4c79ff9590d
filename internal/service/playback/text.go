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
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// textTracks returns the captions of a video, as its streams list them. Their languages and labels are in
// the database. A viewer can do without them, so a database that does not answer stops no viewer.
func (p *Player) textTracks(ctx context.Context, id video.ID) []stream.Text {
	v, err := p.store.Video(ctx, id)
	if err != nil {
		return nil
	}
	var all []stream.Text
	for _, f := range v.Captions() {
		if name, ok := stream.TextName(f.Name); ok {
			all = append(all, stream.Text{Name: name, Language: f.Language, Label: f.Label, Captions: f.Kind == video.CaptionsKind})
		}
	}
	return all
}

// maxTextSegment is behind the last segment of text that a video can have.
const maxTextSegment = int(1000 * time.Hour / stream.TextLength)

// openText makes a file of a stream from the captions in one language, which are stored as one file.
func (p *Player) openText(ctx context.Context, area objects.Area, id video.ID, f stream.File) (Content, error) {
	file, err := p.blobs.Open(ctx, area.Prefix(id)+f.Track+".vtt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noSuchFile()
	}
	if err != nil {
		return nil, blob.ServiceError("open captions", err)
	}
	defer file.Close()
	switch f.Kind {
	case stream.TextFile:
		text, err := readText(file)
		if err != nil {
			return nil, err
		}
		return newDocument(text, file.Info().Modified), nil
	case stream.TextPlaylist:
		show, err := p.presentation(ctx, area, id)
		if err != nil {
			return nil, err
		}
		d := newDocument(stream.NewTextPlaylist(f.Track, show.Micros(), show.Target(), show.Live != nil).Encode(), file.Info().Modified)
		d.grows = show.Live != nil
		return d, nil
	}
	return p.textSegment(ctx, area, id, f.Number, file)
}

// textSegment makes a segment from open captions. There are segments up to the end of the video, as far
// as it is there, and up to the end of the last text.
func (p *Player) textSegment(ctx context.Context, area objects.Area, id video.ID, n int, file blob.Object) (Content, error) {
	if n >= maxTextSegment {
		return nil, noSuchFile()
	}
	info := file.Info()
	text, err := p.captionsOf(ctx, textVersion{info.Key, info.ETag}, func() ([]byte, error) { return readText(file) })
	if err != nil {
		return nil, err
	}
	from := time.Duration(n) * stream.TextLength
	if from >= text.end {
		show, err := p.presentation(ctx, area, id)
		if err != nil {
			return nil, err
		}
		if from >= time.Duration(show.Micros())*time.Microsecond {
			return nil, noSuchFile()
		}
	}
	return newDocument(webvtt.EncodeSegment(text.cues, from, from+stream.TextLength), info.Modified), nil
}

// readText reads open captions.
func readText(file blob.Object) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, webvtt.MaxSize+1))
	if err != nil {
		return nil, blob.ServiceError("read captions", err)
	}
	return text, nil
}
