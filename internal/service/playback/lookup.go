package playback

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// place is where the files lie that an address gives access to.
type place struct {
	area   objects.Area
	video  video.ID
	folder video.Folder
	sound  bool        // its sound may have a file of its own
	part   stream.Part // that may be played
	bound  bool        // to the part, by a signature
}

// prefix is what the keys of these files start with.
func (at place) prefix() string { return at.area.Prefix(at.folder) }

// names is what the names of the files of a stream begin with.
func (at place) names() string { return stream.Prefix(objects.VersionOf(at.video, at.folder)) }

const (
	// lookupAge is how long what the database says of a video is used. Otherwise each segment would cost a query.
	lookupAge = 2 * time.Second
	// maxLookups is how many videos are remembered.
	maxLookups = 10_000
)

// known is what the database says of a video, as far as playing needs it.
type known struct {
	folder     video.Folder
	public     bool // what the video says
	restricted bool // to sites, and perhaps to requests that name none
	sites      []video.Site
	noOrigin   bool
	sound      bool // its sound has a file of its own
	// before is where the file lies that was replaced, for those who were watching it, until a time.
	before video.Folder
	until  time.Time
	readAt time.Time
}

// folderOf returns where a file of a video lies. The names of the files of a stream say of which version they are.
func (k known) folderOf(id video.ID, file string, now time.Time) (in video.Folder, ok bool) {
	f, isStream := stream.Parse(file)
	switch {
	case !isStream || f.Track == "" || f.Version == objects.VersionOf(id, k.folder):
		return k.folder, true
	case k.before != "" && f.Version == objects.VersionOf(id, k.before) && now.Before(k.until):
		return k.before, true
	}
	return "", false
}

// hasSound reports whether the sound may have a file of its own. Of the file before it is not known.
func (k known) hasSound(in video.Folder) bool { return k.sound || in != k.folder }

// lookup returns what is known of a video. It may be lookupAge old, and older while the database does not answer. A
// deleted video may still be known, but the storage has none of its files.
func (p *Player) lookup(ctx context.Context, id video.ID) (known, error) {
	found, err := p.videos.DoUnless(ctx, id, p.isOld, func() (known, int64, error) {
		now := p.now()
		k, err := readKnown(ctx, p.store.Queries, id)
		k.readAt = now
		return k, 1 + int64(len(k.sites)/4), err
	})
	if err == nil {
		return found, nil
	}
	if video.KindOf(err) == video.NotFound {
		p.videos.Delete(id)
	} else if old, remembered := p.videos.Get(id); remembered {
		return old, nil
	}
	return known{}, err
}

func (p *Player) isOld(k known) bool { return p.now().Sub(k.readAt).Abs() >= lookupAge }

// Forget has what is known of a video read again, after a change is committed: its files have moved, or may be played on
// other sites. What a request is just reading is not used by later ones.
func (p *Player) Forget(id video.ID) { p.videos.Delete(id) }

func readKnown(ctx context.Context, q store.Queries, id video.ID) (known, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	var v video.Video
	var origins sql.NullString
	var sound bool
	var until sql.NullInt64
	err := q.QueryRow(ctx, `
		SELECT COALESCE(objects_in, id), is_public, allowed_origins, allow_no_origin, COALESCE(before_in, ''), before_until,
		       COALESCE(files, '') LIKE '%"name":"audio.m4a"%'
		  FROM video WHERE id = $1 AND deleted_at IS NULL AND replaces IS NULL`, id).Scan(&v.ObjectsIn, &v.IsPublic, &origins, &v.AllowNoOrigin, &v.BeforeIn, &until, &sound)
	if errors.Is(err, sql.ErrNoRows) {
		return known{}, noSuchFile()
	}
	if err == nil && origins.Valid {
		err = json.Unmarshal([]byte(origins.String), &v.AllowedOrigins)
	}
	if err != nil {
		return known{}, store.Wrap("look up a video", err)
	}
	return known{folder: v.ObjectsIn, public: v.IsPublic, restricted: v.Restricted(), sites: v.Sites(), noOrigin: v.AllowNoOrigin, sound: sound,
		before: v.BeforeIn, until: store.FromMillis(until)}, nil
}
