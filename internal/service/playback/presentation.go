package playback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/video"
)

// recently is how young a rendition file is whose video may have others that are still being made. The
// database is not asked about videos that have only older ones.
const recently = 15 * time.Minute

// sources are what the playlists of a video are made from, as the storage and the database list it.
type sources struct {
	files   []listedRendition
	growing *growingVideo // nil: nothing is added to the files
	tracks  []video.AudioTrack
}

// version changes with what the sources say.
func (s sources) version() []string {
	var all []string
	for _, f := range s.files {
		all = append(all, f.info.Key+" "+f.info.ETag)
	}
	slices.Sort(all) // a storage lists them in any order
	if s.growing != nil {
		all = append(all, fmt.Sprintf("%#v", s.growing.version))
	}
	for _, t := range s.tracks {
		all = append(all, fmt.Sprint(t.Name, t.Status, t.Language, t.Kind, t.Default, t.Label))
	}
	return all
}

// sources lists the sound tracks and the rendition files of a video and, while some of them are being made, what is there
// of them. Files alone can be told without the database: then the sound is the one that they hold.
func (p *Player) sources(ctx context.Context, at place) (sources, error) {
	s, err := p.videoSources(ctx, at)
	if err != nil {
		return s, err
	}
	if s.growing != nil {
		s.tracks = s.growing.AudioTracks()
	} else if tracks, err := tracksOf(ctx, p.store.Queries, at.video); err == nil {
		s.tracks = tracks
	}
	return s, nil
}

// videoSources is sources without the sound tracks.
func (p *Player) videoSources(ctx context.Context, at place) (sources, error) {
	found, missing := p.listRenditions(ctx, at)
	if missing != nil && video.KindOf(missing) != video.NotFound {
		return sources{}, missing
	}
	if missing == nil && !slices.ContainsFunc(found, p.isRecent) {
		return sources{files: found}, nil
	}
	g, err := p.growing(ctx, at)
	switch {
	case err != nil && (g != nil || missing != nil): // files alone can be told without the database
		return sources{}, err
	case g == nil: // the first file may have been published since they were listed
		found, err = p.listRenditions(ctx, at)
		return sources{files: found}, err
	}
	return sources{files: found, growing: g}, nil
}

func (p *Player) isRecent(f listedRendition) bool {
	return p.now().Sub(f.info.Modified).Abs() < recently
}

// readSources reads the indexes of what was listed, and returns how they are presented.
func (p *Player) readSources(ctx context.Context, at place, s sources) (present func() stream.Presentation, err error) {
	files, err := p.readAll(ctx, s.files)
	if err != nil {
		return nil, err
	}
	if s.growing != nil {
		show, err := p.presentGrowing(ctx, at, s, files)
		if err != nil || len(show.Video) > 0 {
			return func() stream.Presentation { return show }, err
		}
		if files, err = p.renditions(ctx, at); err != nil { // all of it may have been published meanwhile
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, p.whyNoStream(ctx, at)
	}
	var sound stream.Presentation
	if _, err := p.addSounds(ctx, at, s, &sound); err != nil {
		return nil, err
	}
	return func() stream.Presentation {
		show := stream.Present(files)
		if len(sound.Audio) > 0 {
			show.Audio = sound.Audio
		}
		return show
	}, nil
}

// lengthOf returns how long a video is, as far as it is there.
func (p *Player) lengthOf(ctx context.Context, at place) (time.Duration, error) {
	s, err := p.sources(ctx, at)
	if err != nil {
		return 0, err
	}
	if s.growing == nil {
		files, err := p.readAll(ctx, s.files)
		length := time.Duration(0)
		for _, f := range files {
			length = max(length, f.Index.Video.Length())
		}
		return length, err
	}
	present, err := p.readSources(ctx, at, s)
	if err != nil {
		return 0, err
	}
	return time.Duration(present().Micros()) * time.Microsecond, nil
}

// presentGrowing presents the tracks of files, and those that grow.
func (p *Player) presentGrowing(ctx context.Context, at place, s sources, files []stream.Rendition) (stream.Presentation, error) {
	g := s.growing
	var tracks []stream.Track
	have := map[string]bool{}
	for _, f := range files {
		if !video.Name(f.Name).Valid() {
			continue // made in an earlier pass; what grows is H.264 alone
		}
		tracks, have[f.Name] = append(tracks, stream.TrackOf(f.Name, f.Index.Video)), true
	}
	more := false
	for _, r := range g.Resolutions {
		name := string(r.Name)
		if have[name] {
			continue
		}
		f, err := p.growingTrack(ctx, g, name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && f == nil {
			continue // it is a file now, or not there yet
		}
		if err != nil {
			return stream.Presentation{}, err
		}
		tracks, more = append(tracks, stream.TrackOf(name, f.segments)), more || f.more
	}
	if len(tracks) == 0 {
		return stream.Presentation{}, nil
	}
	show := stream.NewPresentation(tracks, stream.OnlySound(files))
	show.LongestSegment = g.Plan.LongestSegment
	sound, err := p.addSounds(ctx, at, s, &show)
	if err == nil && (more || sound) {
		show.Live = &stream.Live{Began: g.PlayableAt, Now: p.now()}
	}
	return show, err
}
