package playback

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/video"
)

// tracksOf returns the sound tracks of a video as viewers see them. Their languages and labels are in the database. A
// video that was made before there were tracks has none there.
func tracksOf(ctx context.Context, q store.Queries, id video.ID) ([]video.AudioTrack, error) {
	var text sql.NullString
	err := q.QueryRow(ctx, "SELECT sound FROM video WHERE id = $1", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var s video.Sound
	if err == nil && text.Valid {
		err = json.Unmarshal([]byte(text.String), &s)
	}
	return s.Tracks, store.Wrap("read the sound of a video", err)
}

// addSounds gives a presentation the sound tracks that have files of their own or, in the place of them, what is there of
// a track that is being made. A presentation of a video without such tracks stays as it is. It reports whether a track grows.
func (p *Player) addSounds(ctx context.Context, at place, s sources, show *stream.Presentation) (more bool, err error) {
	var all []stream.Sound
	for _, t := range s.tracks {
		if t.Status == video.Fail || t.Status == video.Processing && s.growing == nil {
			continue
		}
		track, grows, err := p.soundTrack(ctx, at, s.growing, t)
		if err != nil {
			return false, err
		}
		if track == nil {
			continue
		}
		all, more = append(all, stream.Sound{Track: *track, Language: t.Language, Label: t.Label, Kind: string(t.Kind), Default: t.Default}), more || grows
	}
	if len(all) > 0 {
		show.Audio = all
	}
	return more, nil
}

// soundTrack returns a sound track as playlists tell of it, or nil if it is not there.
func (p *Player) soundTrack(ctx context.Context, at place, g *growingVideo, t video.AudioTrack) (track *stream.Track, grows bool, err error) {
	file, segments, err := p.openAudio(ctx, at, t.Name)
	if err == nil {
		file.Close()
		return new(stream.TrackOf(t.Name, segments)), false, nil
	}
	if video.KindOf(err) != video.NotFound {
		return nil, false, err
	}
	if g == nil {
		return nil, false, nil
	}
	f, err := p.growingTrack(ctx, g, t.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && f == nil {
		return nil, false, nil // it is a file now, or not there yet
	}
	if err != nil {
		return nil, false, err
	}
	return new(stream.TrackOf(t.Name, f.segments)), f.more, nil
}
