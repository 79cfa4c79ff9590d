package playback

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// recently is how young a rendition file is whose video may have others that are still being made. The
// database is not asked about videos that have only older ones.
const recently = 15 * time.Minute

// presentation returns what the list of renditions of a video tells: the rendition files and, while
// some of them are being made, what is there of them.
func (p *Player) presentation(ctx context.Context, area objects.Area, id video.ID) (stream.Presentation, error) {
	found, missing := p.listRenditions(ctx, area, id)
	if missing != nil && video.KindOf(missing) != video.NotFound {
		return stream.Presentation{}, missing
	}
	if missing == nil && !slices.ContainsFunc(found, p.isRecent) {
		return p.presentFiles(ctx, area, id)
	}
	g, err := p.growing(ctx, area, id)
	switch {
	case err != nil && (g != nil || missing != nil): // files alone can be told without the database
		return stream.Presentation{}, err
	case g == nil: // the first file may have been published since they were listed
		return p.presentFiles(ctx, area, id)
	}
	files, err := p.readAll(ctx, found)
	if err != nil {
		return stream.Presentation{}, err
	}
	show, err := p.presentGrowing(ctx, g, files)
	if err == nil && len(show.Video) == 0 { // all of it may have been published meanwhile
		return p.presentFiles(ctx, area, id)
	}
	return show, err
}

func (p *Player) isRecent(f listedRendition) bool {
	return p.now().Sub(f.info.Modified).Abs() < recently
}

func (p *Player) presentFiles(ctx context.Context, area objects.Area, id video.ID) (stream.Presentation, error) {
	all, err := p.renditions(ctx, area, id)
	if err != nil {
		return stream.Presentation{}, err
	}
	return stream.Present(all), nil
}

// presentGrowing presents the tracks of files, and those that grow.
func (p *Player) presentGrowing(ctx context.Context, g *growingVideo, files []stream.Rendition) (stream.Presentation, error) {
	var tracks []stream.Track
	var audio *stream.Track
	have := map[string]bool{}
	for _, f := range files {
		if !video.Name(f.Name).Valid() {
			continue // made in an earlier pass; what grows is H.264 alone
		}
		tracks, have[f.Name] = append(tracks, stream.TrackOf(f.Name, f.Index.Video)), true
		if audio == nil && f.Index.Audio != nil {
			t := stream.TrackOf(stream.AudioTrack, f.Index.Audio)
			audio = &t
		}
	}
	names := []string{stream.AudioTrack}
	for _, r := range g.Resolutions {
		names = append(names, string(r.Name))
	}
	have[stream.AudioTrack] = len(files) > 0
	more := false
	for _, name := range slices.DeleteFunc(names, func(n string) bool { return have[n] }) {
		f, err := p.growingTrack(ctx, g, name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && f == nil {
			continue // it is a file now, or not there yet
		}
		if err != nil {
			return stream.Presentation{}, err
		}
		t := stream.TrackOf(name, f.segments)
		if more = more || f.more; name == stream.AudioTrack {
			audio = &t
		} else {
			tracks = append(tracks, t)
		}
	}
	if len(tracks) == 0 {
		return stream.Presentation{}, nil
	}
	show := stream.NewPresentation(tracks, audio)
	if more {
		show.Live = &stream.Live{Began: g.PlayableAt, Now: p.now()}
	}
	return show, nil
}
