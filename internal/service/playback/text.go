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

// texts returns the captions of a video, as its streams list them. Their languages and labels are in
// the database. A viewer can do without them, so a database that does not answer stops nobody.
func (p *Player) texts(ctx context.Context, id video.ID) []stream.Text {
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
	text, info, err := p.readText(ctx, area, id, f.Track+".vtt")
	if err != nil {
		return nil, err
	}
	switch f.Kind {
	case stream.TextFile:
		return newDocument(text, info.Modified), nil
	case stream.TextPlaylist:
		show, err := p.presentation(ctx, area, id)
		if err != nil {
			return nil, err
		}
		d := newDocument(stream.NewTextPlaylist(f.Track, show.Micros(), show.Target(), show.Live != nil).Encode(), info.Modified)
		d.grows = show.Live != nil
		return d, nil
	}
	if f.Number >= maxTextSegment {
		return nil, noSuchFile()
	}
	cues, err := webvtt.ParseForgiving(text)
	if err != nil {
		return nil, err
	}
	from := time.Duration(f.Number) * stream.TextLength
	return newDocument(webvtt.EncodeSegment(cues, from, from+stream.TextLength), info.Modified), nil
}

// readText reads the captions in one language.
func (p *Player) readText(ctx context.Context, area objects.Area, id video.ID, name string) ([]byte, blob.Info, error) {
	file, err := p.blobs.Open(ctx, area.Prefix(id)+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.Info{}, noSuchFile()
	}
	if err != nil {
		return nil, blob.Info{}, blob.ServiceError("open captions", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, webvtt.MaxSize+1))
	if err != nil {
		return nil, blob.Info{}, blob.ServiceError("read captions", err)
	}
	return text, file.Info(), nil
}
