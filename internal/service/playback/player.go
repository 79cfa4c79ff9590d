package playback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// indexCacheSize is how much memory the indexes of rendition files may take. The index of a video of
// two hours takes some 6 MB.
const indexCacheSize = 64 << 20

// Player opens files for playback.
type Player struct {
	store     *store.Store
	blobs     blob.Store
	keys      *auth.SigningKeys
	videos    *cache.Cache[video.ID, known]
	now       func() time.Time
	redirect  blob.Presigner                       // nil: files are served from here
	local     bool                                 // the files are on this machine
	indexes   *cache.Cache[string, versionedIndex] // by the file's key
	reads     *semaphore.Weighted                  // of indexes
	captions  *cache.Cache[textVersion, *cachedText]
	cuts      *cache.Cache[cutID, cut]
	documents *cache.Cache[documentID, []byte]
	encoding  *growingCaches                // videos that are played while they are encoded
	seen      *cache.Cache[string, seenKey] // whether pictures of other formats exist
	shares    *cache.Cache[string, seenShare]
}

// NewPlayer returns a Player. With redirect, players are sent to the storage where it can serve them.
func NewPlayer(s *store.Store, blobs blob.Store, keys *auth.SigningKeys, now func() time.Time, redirect bool) *Player {
	p := &Player{
		store: s, blobs: blobs, keys: keys, now: now, local: blobs.Capabilities().Local,
		videos:    cache.New[video.ID, known](maxLookups),
		indexes:   cache.New[string, versionedIndex](indexCacheSize),
		reads:     semaphore.NewWeighted(int64(max(2, runtime.GOMAXPROCS(0)))),
		captions:  cache.New[textVersion, *cachedText](textCacheSize),
		cuts:      cache.New[cutID, cut](cutCacheSize),
		documents: cache.New[documentID, []byte](documentCacheSize),
		encoding:  newGrowingCaches(),
		seen:      cache.New[string, seenKey](seenCacheSize),
		shares:    cache.New[string, seenShare](sharesSize),
	}
	if redirect {
		p.redirect = blobs.Capabilities().Presign
	}
	return p
}

// Access is what a playback address gives access to: the files of one video.
type Access struct {
	Video video.ID
	Token string      // the signed part of the address of a private video; "" for a public one
	Part  stream.Part // of which playlists are asked for

	Restricted bool  // to some sites: the file is sent from here, and not kept by shared caches; set by Admit
	checked    place // where the file lies, if Admit has checked the address
}

// place checks the signed part of an address, if it has one, and returns where its file lies.
func (p *Player) place(ctx context.Context, a Access, file string) (place, error) {
	if a.checked.area != "" {
		return a.checked, nil
	}
	at, _, _, err := p.check(ctx, a, file)
	return at, err
}

// check checks an address. It returns where its file lies, what is known of the video, and whether the address was signed
// for a page of this server.
func (p *Player) check(ctx context.Context, a Access, file string) (at place, k known, page bool, err error) {
	at.video, at.part = a.Video, a.Part
	if part, ok := previewOf(a.Token); ok {
		at.area, at.part, at.bound = objects.Private, part, true
		err = p.checkPreview(ctx, a, part, file)
	} else {
		at.area, page, err = p.signedArea(ctx, a, file)
	}
	if err != nil {
		return at, k, page, err
	}
	if k, err = p.lookup(ctx, a.Video); err != nil {
		return at, k, page, err
	}
	var ok bool
	if at.folder, ok = k.folderOf(a.Video, file, p.now()); ok {
		at.sound = k.hasSound(at.folder)
		return at, k, page, nil
	}
	p.Forget(a.Video) // another process may have replaced the file a moment ago
	if k, err = p.lookup(ctx, a.Video); err != nil {
		return at, k, page, err
	}
	at.folder, ok = k.folderOf(a.Video, file, p.now())
	if at.sound = k.hasSound(at.folder); !ok {
		err = noSuchFile()
	}
	return at, k, page, err
}

// signedArea checks the signed part of an address. It returns where the file of the address lies, and whether it was
// signed for a page of this server.
func (p *Player) signedArea(ctx context.Context, a Access, file string) (area objects.Area, page bool, err error) {
	if a.Token == "" {
		return objects.Public, false, nil
	}
	if share, token, ok := cutShare(a.Token); ok {
		area, err := p.sharedArea(ctx, a, share, token, file)
		return area, true, err
	}
	purpose, subject := signedFor(a.Video, file)
	err = p.keys.Verify(ctx, purpose, subject, a.Token)
	for _, area := range []objects.Area{objects.Public, objects.Private} {
		if isInvalid(err) {
			if err := p.keys.Verify(ctx, sign.Page, pageSubject(area, a.Video), a.Token); !isInvalid(err) {
				return area, true, err
			}
		}
	}
	return objects.Private, false, err
}

func isInvalid(err error) bool {
	e, ok := errors.AsType[*video.Error](err)
	return ok && e.Code == "url_invalid"
}

// Authorize checks the signed part of the address of a file that is made elsewhere, and returns where the files of its
// video lie.
func (p *Player) Authorize(ctx context.Context, a Access, file string) (objects.Area, error) {
	at, err := p.place(ctx, a, file)
	return at.area, err
}

// Opens returns an error unless an address opens the streams of a video.
func (p *Player) Opens(ctx context.Context, a Access) error {
	_, err := p.place(ctx, a, stream.MasterFile)
	return err
}

const (
	// redirectLife is how long an address of the storage lives that a player is sent to. Players
	// keep it for the whole video, pauses included.
	redirectLife = 6 * time.Hour
	// minRedirectLife is how long an address of the storage must live for a player to reach it in
	// time. A file whose address ends sooner is served from here.
	minRedirectLife = 5 * time.Second
	// openTimeout is how long a viewer waits for a storage that does not answer.
	openTimeout = 5 * time.Second
)

// Redirect returns where the storage itself serves a file, for GET only. It is "" where the storage
// does not serve it, and Open does. With download, a browser is told to save the file; see Disposition.
// The address does not outlive a signed one that leads to it. The addresses of shares lead nowhere: they may end any moment.
func (p *Player) Redirect(ctx context.Context, a Access, file string, download bool) (string, error) {
	if _, _, shared := cutShare(a.Token); p.redirect == nil || shared || a.Restricted || servedHere(file) {
		return "", nil
	}
	at, err := p.place(ctx, a, file)
	if err != nil {
		return "", err
	}
	life := redirectLife
	if a.Token != "" {
		if life = p.redirectLifeUntil(sign.Expiry(a.Token)); life == 0 {
			return "", nil
		}
	}
	return p.presign(ctx, at, file, life, download)
}

// redirectLifeUntil is how long an address of the storage lives in the place of one that expires; 0: it would be too
// short. The storage counts whole seconds, from the beginning of the one in which it signs.
func (p *Player) redirectLifeUntil(expires time.Time) time.Duration {
	left := time.Duration(expires.Unix()-p.now().Unix()) * time.Second
	if left < minRedirectLife {
		return 0
	}
	return min(left, redirectLife)
}

// servedHere reports whether a file is never redirected: it is made here, or it names other files
// relative to its own address.
func servedHere(file string) bool { return isStreamFile(file) || file == video.StoryboardFile }

// presign checks that the file is there before it returns an address: the storage would not explain
// why it is missing.
func (p *Player) presign(ctx context.Context, at place, file string, life time.Duration, download bool) (string, error) {
	parsed, ok := objects.ParseFile(file)
	if !ok {
		return "", noSuchFile()
	}
	key := at.prefix() + file
	stat, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if _, err := p.blobs.Stat(stat, key); errors.Is(err, fs.ErrNotExist) {
		p.seen.Delete(key)
		return "", p.whyMissing(ctx, at, parsed)
	} else if err != nil {
		return "", blob.ServiceError("find "+file, err)
	}
	disposition := ""
	if download {
		var err error
		if disposition, err = p.Disposition(ctx, at.video, file); err != nil {
			return "", err
		}
	}
	address, err := p.redirect.PresignGet(ctx, key, life, disposition)
	if err != nil {
		return "", blob.ServiceError("presign "+file, err)
	}
	return address, nil
}

// Open opens a file of a video: "720p.mp4", "720p-0.jpg", a file that the video lists, or one of the
// stream. A file that does not exist yet is not_ready; one that never will is not_found.
func (p *Player) Open(ctx context.Context, a Access, file string) (Content, error) {
	at, err := p.place(ctx, a, file)
	if err != nil {
		return nil, err
	}
	f, ok := stream.Parse(file)
	if ok && f.Kind == stream.TextFile { // for DASH, which has captions as one file
		file, ok = f.Track+".vtt", false
	}
	if ok {
		return p.openStream(ctx, at, f)
	}
	parsed, ok := objects.ParseFile(file)
	if !ok {
		return nil, noSuchFile()
	}
	if err := limit.TurnOf(ctx).File(ctx); err != nil {
		return nil, err
	}
	o, err := p.openObject(ctx, at.prefix()+file)
	if errors.Is(err, fs.ErrNotExist) {
		p.seen.Delete(at.prefix() + file)
		return nil, p.whyMissing(ctx, at, parsed)
	}
	if err != nil {
		return nil, blob.ServiceError("open "+file, err)
	}
	return o, nil
}

// openObject opens an object. The files of this machine are opened without a time limit: nothing could
// interrupt that.
func (p *Player) openObject(ctx context.Context, key string) (blob.Object, error) {
	if p.local {
		return p.blobs.Open(ctx, key)
	}
	return openInTime(ctx, func(ctx context.Context) (blob.Object, error) { return p.blobs.Open(ctx, key) })
}

// openInTime opens something in a storage that answers within openTimeout. The context of what is
// open must last for as long as a viewer watches, so it has no deadline itself.
func openInTime[C io.Closer](ctx context.Context, open func(context.Context) (C, error)) (C, error) {
	ctx, cancel := context.WithCancel(ctx) // until the request ends
	late := time.AfterFunc(openTimeout, cancel)
	c, err := open(ctx)
	if late.Stop() {
		return c, err
	}
	if err == nil { // opened at the very moment of the timeout
		_ = c.Close() // nothing was read
	}
	var none C
	return none, fmt.Errorf("no answer for %s: %w", openTimeout, context.DeadlineExceeded)
}

func noSuchFile() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is no such file."}
}

func notReady() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "not_ready", Msg: "This file is not ready yet.", RetryAfter: 2 * time.Second}
}

// whyMissing says why a file cannot be played. Only then is a query needed.
func (p *Player) whyMissing(ctx context.Context, at place, file objects.File) error {
	v, err := p.store.Video(ctx, at.video)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	if err != nil || !v.DeletedAt.IsZero() || objects.PlaybackArea(v) != at.area {
		return noSuchFile()
	}
	pending := file.Pending(v) || v.Moving != "" // it comes from the other area
	if file.Listed != "" {
		steps, err := p.store.Steps(ctx, at.video)
		if err != nil {
			return err
		}
		pending = pipeline.Awaited(v, steps, file.Listed) || v.AwaitsVariant(file.Listed) || v.AwaitsTrack(file.Listed)
	}
	if pending {
		return notReady()
	}
	return noSuchFile()
}
