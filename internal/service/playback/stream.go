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
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// openStream makes a file of a stream. Whatever is in memory, the storage is asked first whether the
// rendition file is there: a deleted one has no stream.
func (p *Player) openStream(ctx context.Context, at place, f stream.File) (Content, error) {
	if f.Kind == stream.Segment || f.Kind == stream.Frame {
		return p.openSegment(ctx, at, f)
	}
	finding, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	d, err := p.findDocument(finding, at, f)
	if err != nil {
		return nil, err
	}
	d.ctx = ctx
	return d, nil
}

// findDocument finds what a file of a stream is made from.
func (p *Player) findDocument(ctx context.Context, at place, f stream.File) (*document, error) {
	switch f.Kind {
	case stream.Master, stream.Manifest:
		return p.findOverview(ctx, at, f)
	case stream.ChaptersVTT, stream.ChaptersJSON:
		return p.findChapters(ctx, at, f)
	case stream.TextPlaylist, stream.TextSegment:
		return p.findText(ctx, at, f)
	case stream.Init:
		return p.openInit(ctx, at, f)
	}
	return p.findPlaylist(ctx, at, f)
}

// findOverview finds the list of renditions. It has no modification time: the deletion of a rendition
// would not change it.
func (p *Player) findOverview(ctx context.Context, at place, f stream.File) (*document, error) {
	s, err := p.sources(ctx, at)
	if err != nil {
		return nil, err
	}
	texts, chapters := p.textTracks(ctx, at.video), at.part.All() && p.hasChapters(ctx, at)
	from := []any{at.prefix(), s.version(), texts, chapters, at.part, at.bound}
	if f.Kind == stream.Manifest && s.growing != nil {
		from = append(from, p.now().Unix()) // it tells the time
	}
	d := p.document(newDocumentID(f, from...), time.Time{}, func(ctx context.Context) (func() ([]byte, error), error) {
		present, err := p.readSources(ctx, at, s)
		return func() ([]byte, error) {
			show, err := partOf(present(), at)
			if err != nil {
				return nil, err
			}
			show.Chapters, show.Prefix = chapters, at.names()
			if f.Kind == stream.Master || at.part.All() { // for DASH, a text is one file, which shows more than a part
				show.Text = texts
			}
			if f.Kind == stream.Master {
				return stream.MasterPlaylist(show), nil
			}
			return stream.DASHManifest(show)
		}, err
	})
	d.grows = s.growing != nil
	return d, nil
}

func (p *Player) openInit(ctx context.Context, at place, f stream.File) (*document, error) {
	file, track, err := p.openTrack(ctx, at, f.Track)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := newDocument(track.Init, file.Info().Modified)
	_, d.early = file.(*growingFile)
	return d, nil
}

// findPlaylist finds the playlist of a track. Where its rendition file is listed, the file is not opened.
func (p *Player) findPlaylist(ctx context.Context, at place, f stream.File) (*document, error) {
	if !at.part.All() {
		return p.findPartPlaylist(ctx, at, f)
	}
	found, missing := p.listRenditions(ctx, at)
	if missing != nil && video.KindOf(missing) != video.NotFound {
		return nil, missing
	}
	for _, r := range found {
		if r.track == f.Track {
			return p.filePlaylist(at, f, found, r.info.Modified), nil
		}
	}
	file, track, err := p.openTrack(ctx, at, f.Track)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	growing, early := file.(*growingFile)
	if early {
		return p.growingPlaylist(at, f, file.Info(), track, growing.more), nil
	}
	if missing != nil && stream.IsAudio(f.Track) { // sound has its file before there is any rendition file
		return p.growingPlaylist(at, f, file.Info(), track, false), nil
	}
	if missing != nil { // the file may have been published since they were listed
		if found, err = p.listRenditions(ctx, at); err != nil {
			return nil, err
		}
	}
	return p.filePlaylist(at, f, found, file.Info().Modified), nil
}

// filePlaylist returns the playlist of a track of a rendition file. The target duration and the type are the
// same in the playlists of all files.
func (p *Player) filePlaylist(at place, f stream.File, found []listedRendition, modified time.Time) *document {
	return p.document(newDocumentID(f, at.prefix(), sources{files: found}.version()), modified, func(ctx context.Context) (func() ([]byte, error), error) {
		file, track, err := p.openFileTrack(ctx, at, f.Track)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		all, err := p.renditions(ctx, at)
		return func() ([]byte, error) {
			t, show := stream.TrackOf(f.Track, track), stream.Present(all)
			target := max(trackTarget(t), show.Target()) // its own is longer if it is not listed there
			return playlistOf(at, f, t, target, stream.GrowthOf(time.Duration(show.Micros())*time.Microsecond, false)), nil
		}, err
	})
}

// growingPlaylist returns the playlist of a track of a video that is being made. more says that segments will follow.
func (p *Player) growingPlaylist(at place, f stream.File, of blob.Info, track *mp4.Segments, more bool) *document {
	growth := stream.Grown
	if more {
		growth = stream.Growing
	}
	d := p.document(newDocumentID(f, of.ETag, growth), of.Modified, func(context.Context) (func() ([]byte, error), error) {
		return func() ([]byte, error) {
			t := stream.TrackOf(f.Track, track)
			return playlistOf(at, f, t, trackTarget(t), growth), nil
		}, nil
	})
	d.grows = true
	return d
}

// trackTarget is the target duration of a track alone.
func trackTarget(t stream.Track) int {
	return stream.NewPresentation([]stream.Track{t}, nil).Target()
}

func playlistOf(at place, f stream.File, t stream.Track, target int, growth stream.Growth) []byte {
	list := t.Playlist(target, growth)
	if f.Kind == stream.FramesPlaylist {
		list = t.FramesPlaylist(target, growth)
	}
	list.Prefix = at.names()
	return list.Encode()
}

// openSegment returns a segment whose media are read from the rendition file as they are sent. The
// storage has openTimeout to begin, and no limit to go on.
func (p *Player) openSegment(ctx context.Context, at place, f stream.File) (Content, error) {
	if err := limit.TurnOf(ctx).File(ctx); err != nil {
		return nil, err
	}
	s, err := openInTime(ctx, func(ctx context.Context) (*segment, error) { return p.findSegment(ctx, at, f) })
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
func (p *Player) findSegment(ctx context.Context, at place, f stream.File) (*segment, error) {
	s, err := p.cutSegment(ctx, at, f)
	if errors.Is(err, fs.ErrNotExist) {
		s, err = p.cutSegment(ctx, at, f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.ServiceError("open chunk file", err)
	}
	return s, err
}

// cutSegment opens a segment. A piece that has gone is fs.ErrNotExist.
func (p *Player) cutSegment(ctx context.Context, at place, f stream.File) (*segment, error) {
	file, track, err := p.openTrack(ctx, at, f.Track)
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
	if err := p.checkPart(ctx, at, f, track); err != nil {
		file.Close()
		return nil, err
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
func (p *Player) openTrack(ctx context.Context, at place, name string) (mediaFile, *mp4.Segments, error) {
	file, segments, err := p.openFileTrack(ctx, at, name)
	if err == nil {
		return file, segments, nil
	}
	if video.KindOf(err) != video.NotFound || !stream.IsAudio(name) && !video.Name(name).Valid() {
		return nil, nil, err
	}
	g, err := p.growing(ctx, at)
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
	return p.openFileTrack(ctx, at, name) // it may have been published since it was looked for
}

// openFileTrack opens the rendition file that has a track, and finds the track in its index.
func (p *Player) openFileTrack(ctx context.Context, at place, name string) (blob.Object, *mp4.Segments, error) {
	if stream.IsAudio(name) {
		return p.openAudio(ctx, at, name)
	}
	file, err := p.openRendition(ctx, at, name)
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

// openAudio opens a sound track: its own file or, of a video that was made before there were such files, a rendition file.
func (p *Player) openAudio(ctx context.Context, at place, name string) (blob.Object, *mp4.Segments, error) {
	if name == stream.AudioTrack && !at.sound {
		return p.openMixed(ctx, at)
	}
	file, err := p.blobs.Open(ctx, at.prefix()+name+soundSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == stream.AudioTrack:
		return p.openMixed(ctx, at)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, noSuchFile()
	case err != nil:
		return nil, nil, blob.ServiceError("open sound track", err)
	}
	index, err := p.index(ctx, file)
	if err == nil && index.Audio == nil {
		err = fmt.Errorf("%s holds no sound", file.Info().Key)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, index.Audio, nil
}

// soundSuffix is what the names of the files of sound tracks end with.
const soundSuffix = ".m4a"

// openMixed opens a rendition file to read the sound from. It is the same in all of them,
// except in those whose audio could not be decoded. The smallest file has the fewest other bytes in
// between. A file whose index is known is likely to be there, which saves listing them.
func (p *Player) openMixed(ctx context.Context, at place) (blob.Object, *mp4.Segments, error) {
	known := slices.DeleteFunc(slices.Clone(video.Names), func(n video.Name) bool {
		_, ok := p.indexes.Get(at.prefix() + objects.RenditionFile(n))
		return !ok
	})
	file, audio, err := p.openFirstAudio(ctx, at, known)
	if video.KindOf(err) != video.NotFound {
		return file, audio, err
	}
	found, err := p.listRenditions(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	var others []video.Name
	for _, f := range found {
		if f.track == string(f.name) && !slices.Contains(known, f.name) {
			others = append(others, f.name)
		}
	}
	return p.openFirstAudio(ctx, at, others)
}

// openFirstAudio opens the first rendition file that is there and has audio.
func (p *Player) openFirstAudio(ctx context.Context, at place, names []video.Name) (blob.Object, *mp4.Segments, error) {
	for _, n := range names {
		file, err := p.blobs.Open(ctx, at.prefix()+objects.RenditionFile(n))
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
func (p *Player) openRendition(ctx context.Context, at place, track string) (blob.Object, error) {
	name := track + ".mp4"
	parsed, ok := objects.ParseFile(name)
	if _, _, isVariant := variantTrack(name); !ok || !parsed.IsRendition() && !isVariant {
		return nil, noSuchFile()
	}
	file, err := p.blobs.Open(ctx, at.prefix()+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.whyMissing(ctx, at, parsed)
	}
	if err != nil {
		return nil, blob.ServiceError("open rendition file", err)
	}
	return file, nil
}
