package playback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// openStream makes a file of a stream. Whatever is in memory, the storage is asked first whether the
// rendition file is there: a deleted one has no stream.
func (p *Player) openStream(ctx context.Context, area objects.Area, id video.ID, f stream.File) (Content, error) {
	if f.Kind == stream.Segment || f.Kind == stream.Frame {
		return p.openSegment(ctx, area, id, f)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	switch f.Kind {
	case stream.Master, stream.Manifest:
		return p.openOverview(ctx, area, id, f.Kind)
	case stream.TextPlaylist, stream.TextSegment, stream.TextFile:
		return p.openText(ctx, area, id, f)
	}
	file, track, err := p.openTrack(ctx, area, id, f.Track)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	growing, early := file.(*growingFile)
	if f.Kind == stream.Init {
		d := newDocument(track.Init, file.Info().Modified)
		d.early = early
		return d, nil
	}
	t := stream.TrackOf(f.Track, track)
	target, growth := stream.NewPresentation([]stream.Track{t}, nil).Target(), stream.Grown
	if early && growing.more {
		growth = stream.Growing
	}
	if !early {
		all, err := p.renditions(ctx, area, id) // target duration and type are the same in all playlists
		if err != nil {
			return nil, err
		}
		show := stream.Present(all)
		target = max(target, show.Target()) // its own is longer if it is not listed there
		growth = stream.GrowthOf(time.Duration(show.Micros())*time.Microsecond, false)
	}
	list := t.Playlist(target, growth)
	if f.Kind == stream.FramesPlaylist {
		list = t.FramesPlaylist(target, growth)
	}
	d := newDocument(list.Encode(), file.Info().Modified)
	d.grows = early
	return d, nil
}

// openOverview makes the list of renditions. It has no modification time: the deletion of a
// rendition would not change it.
func (p *Player) openOverview(ctx context.Context, area objects.Area, id video.ID, k stream.Kind) (Content, error) {
	show, err := p.presentation(ctx, area, id)
	if err != nil {
		return nil, err
	}
	show.Text = p.textTracks(ctx, id)
	text := stream.MasterPlaylist(show)
	if k == stream.Manifest {
		text, err = stream.DASHManifest(show)
	}
	d := newDocument(text, time.Time{})
	d.grows = show.Live != nil
	return d, err
}

// openSegment returns a segment whose media are read from the rendition file as they are sent. The
// storage has openTimeout to begin, and no limit to go on.
func (p *Player) openSegment(ctx context.Context, area objects.Area, id video.ID, f stream.File) (Content, error) {
	s, err := openInTime(ctx, func(ctx context.Context) (*segment, error) { return p.findSegment(ctx, area, id, f) })
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, blob.ServiceError("open rendition file", err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// findSegment opens a segment. The pieces of a file are removed some time after it is published, so what
// has just gone is in the file now.
func (p *Player) findSegment(ctx context.Context, area objects.Area, id video.ID, f stream.File) (*segment, error) {
	s, err := p.cutSegment(ctx, area, id, f)
	if errors.Is(err, fs.ErrNotExist) {
		s, err = p.cutSegment(ctx, area, id, f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.ServiceError("open chunk file", err)
	}
	return s, err
}

// cutSegment opens a segment. A piece that has gone is fs.ErrNotExist.
func (p *Player) cutSegment(ctx context.Context, area objects.Area, id video.ID, f stream.File) (*segment, error) {
	file, track, err := p.openTrack(ctx, area, id, f.Track)
	if err != nil {
		return nil, err
	}
	growing, early := file.(*growingFile)
	if f.Number >= len(track.List()) {
		file.Close()
		if early && growing.more {
			return nil, notReady()
		}
		return nil, noSuchFile()
	}
	of := file.Info()
	c, err := p.cutOf(ctx, newCutID(of, f), func() (cut, error) { return cutOut(track, f, of) })
	if err == nil && early {
		err = growing.open(c.parts)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("segment %d of %s: %w", f.Number, of.Key, err)
	}
	return newSegment(file, c), nil
}

// cutOut cuts a segment out of a track.
func cutOut(track *mp4.Segments, f stream.File, of blob.Info) (cut, error) {
	find := track.Segment
	if f.Kind == stream.Frame {
		find = track.KeyFrame
	}
	parts, err := find(f.Number)
	return newCut(parts, of), err
}

// openTrack opens a track: of the rendition file that has it or, while that is being made, of what is
// there of it. A file may be published, and its pieces removed, between the two.
func (p *Player) openTrack(ctx context.Context, area objects.Area, id video.ID, name string) (mediaFile, *mp4.Segments, error) {
	file, segments, err := p.openFileTrack(ctx, area, id, name)
	if err == nil {
		return file, segments, nil
	}
	if video.KindOf(err) != video.NotFound || name != stream.AudioTrack && !video.Name(name).Valid() {
		return nil, nil, err
	}
	g, err := p.growing(ctx, area, id)
	if err != nil {
		return nil, nil, err
	}
	if g != nil {
		growing, err := p.growingTrack(ctx, g, name)
		if growing != nil {
			return growing, growing.segments, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	return p.openFileTrack(ctx, area, id, name) // it may have been published since it was looked for
}

// openFileTrack opens the rendition file that has a track, and finds the track in its index.
func (p *Player) openFileTrack(ctx context.Context, area objects.Area, id video.ID, name string) (blob.Object, *mp4.Segments, error) {
	if name == stream.AudioTrack {
		return p.openAudio(ctx, area, id)
	}
	file, err := p.openRendition(ctx, area, id, name)
	if err != nil {
		return nil, nil, err
	}
	index, err := p.index(ctx, file)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, index.Video, nil
}

// openAudio opens a rendition file to read the audio from. The audio is the same in all of them,
// except in those whose audio could not be decoded. The smallest file has the fewest other bytes in
// between. A file whose index is known is likely to be there, which saves listing them.
func (p *Player) openAudio(ctx context.Context, area objects.Area, id video.ID) (blob.Object, *mp4.Segments, error) {
	known := slices.DeleteFunc(slices.Clone(video.Names), func(n video.Name) bool {
		_, ok := p.indexes.Get(area.Prefix(id) + objects.RenditionFile(n))
		return !ok
	})
	file, audio, err := p.openFirstAudio(ctx, area, id, known)
	if video.KindOf(err) != video.NotFound {
		return file, audio, err
	}
	found, err := p.listRenditions(ctx, area, id)
	if err != nil {
		return nil, nil, err
	}
	var others []video.Name
	for _, f := range found {
		if f.track == string(f.name) && !slices.Contains(known, f.name) {
			others = append(others, f.name)
		}
	}
	return p.openFirstAudio(ctx, area, id, others)
}

// openFirstAudio opens the first rendition file that is there and has audio.
func (p *Player) openFirstAudio(ctx context.Context, area objects.Area, id video.ID, names []video.Name) (blob.Object, *mp4.Segments, error) {
	for _, n := range names {
		file, err := p.blobs.Open(ctx, area.Prefix(id)+objects.RenditionFile(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, nil, blob.ServiceError("open rendition file", err)
		}
		index, err := p.index(ctx, file)
		if err == nil && index.Audio != nil {
			return file, index.Audio, nil
		}
		file.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, noSuchFile()
}

// openRendition opens the rendition file of a track.
func (p *Player) openRendition(ctx context.Context, area objects.Area, id video.ID, track string) (blob.Object, error) {
	name := track + ".mp4"
	parsed, ok := objects.ParseFile(name)
	if _, _, isVariant := variantTrack(name); !ok || !parsed.IsRendition() && !isVariant {
		return nil, noSuchFile()
	}
	file, err := p.blobs.Open(ctx, area.Prefix(id)+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.whyMissing(ctx, area, id, parsed)
	}
	if err != nil {
		return nil, blob.ServiceError("open rendition file", err)
	}
	return file, nil
}
