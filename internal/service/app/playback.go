package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// playSubject is what a signed address is signed for: this very file, or the
// whole stream that it is of, whose playlists name the other files by addresses
// relative to their own, which then carry the same signature.
func playSubject(id video.ID, file string) (sign.Purpose, string) {
	if isStreamFile(file) {
		return sign.Stream, string(id)
	}
	return sign.Playback, string(id) + "/" + file
}

// checkPlay verifies the signed part of a playback address.
func (a *App) checkPlay(ctx context.Context, token string, id video.ID, file string) error {
	purpose, subject := playSubject(id, file)
	return a.checkToken(ctx, purpose, subject, token)
}

// OpenPublic opens a file of a public video for playback: file is such as
// "720p.mp4", "720p-0.jpg" or a file of the stream. A file that does not exist
// yet is not_ready; one that never will is not_found.
func (a *App) OpenPublic(ctx context.Context, id video.ID, file string) (Content, error) {
	return a.openPlay(ctx, publicPlace, id, file)
}

// OpenSigned opens a file of a private video for the holder of a signed address.
func (a *App) OpenSigned(ctx context.Context, token string, id video.ID, file string) (Content, error) {
	if err := a.checkPlay(ctx, token, id, file); err != nil {
		return nil, err
	}
	return a.openPlay(ctx, privatePlace, id, file)
}

// redirectLife is how long an address of the storage lives that a player is
// sent to. Players keep it for the whole film, pauses included.
const redirectLife = 6 * time.Hour

// shortestRedirect is how long an address of the storage must have to live for
// a player to reach it in time. What ends sooner is served from here.
const shortestRedirect = 5 * time.Second

// lookLimit is how long a player, or who completes an upload, waits for a storage
// that does not answer. Work is patient with it; a person is not.
const lookLimit = 5 * time.Second

// PublicAddress returns where the storage itself serves a file of a public
// video, for GET only. It is "" where the storage does not: OpenPublic does.
func (a *App) PublicAddress(ctx context.Context, id video.ID, file string) (string, error) {
	if a.redirect == nil || isStreamFile(file) {
		return "", nil
	}
	return a.playAddress(ctx, publicPlace, id, file, redirectLife)
}

// SignedAddress is PublicAddress for the holder of a signed address. Neither
// outlives the other.
func (a *App) SignedAddress(ctx context.Context, token string, id video.ID, file string) (string, error) {
	if a.redirect == nil || isStreamFile(file) {
		return "", nil
	}
	if err := a.checkPlay(ctx, token, id, file); err != nil {
		return "", err
	}
	// The storage counts whole seconds, from the beginning of the one in which it
	// signs.
	left := time.Duration(sign.Expiry(token).Unix()-a.now().Unix()) * time.Second
	if left < shortestRedirect {
		return "", nil
	}
	return a.playAddress(ctx, privatePlace, id, file, min(left, redirectLife))
}

// playAddress looks whether the file is there before it sends anybody away: the
// storage would not explain why it is not.
func (a *App) playAddress(ctx context.Context, place string, id video.ID, file string, life time.Duration) (string, error) {
	name, thumbnail, ok := parsePlayFile(file)
	if !ok {
		return "", noSuchFile()
	}
	key := folder(place, id) + file
	look, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if _, err := a.blobs.Stat(look, key); errors.Is(err, fs.ErrNotExist) {
		return "", a.whyMissing(ctx, place, id, name, thumbnail)
	} else if err != nil {
		return "", storageError("look for "+file, err)
	}
	address, err := a.redirect.PresignGet(ctx, key, life)
	if err != nil {
		return "", storageError("presign "+file, err)
	}
	return address, nil
}

// isStreamFile reports whether a file is made when it is asked for: the storage
// has no such object to serve.
func isStreamFile(file string) bool {
	_, ok := stream.Parse(file)
	return ok
}

func (a *App) openPlay(ctx context.Context, place string, id video.ID, file string) (Content, error) {
	if f, ok := stream.Parse(file); ok {
		return a.openStream(ctx, place, id, f)
	}
	name, thumbnail, ok := parsePlayFile(file)
	if !ok {
		return nil, noSuchFile()
	}
	o, err := inTime(ctx, func(ctx context.Context) (blob.Object, error) { return a.blobs.Open(ctx, folder(place, id)+file) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, a.whyMissing(ctx, place, id, name, thumbnail)
	}
	if err != nil {
		return nil, storageError("open "+file, err)
	}
	return o, nil
}

// inTime opens something in a storage that answers within lookLimit. What is open
// needs its context for as long as somebody watches, so a limit of time on that
// would end the film.
func inTime[C io.Closer](ctx context.Context, open func(context.Context) (C, error)) (C, error) {
	ctx, cancel := context.WithCancel(ctx) // until the request ends
	late := time.AfterFunc(lookLimit, cancel)
	c, err := open(ctx)
	if late.Stop() {
		return c, err
	}
	if err == nil { // in the very last moment
		_ = c.Close() // nothing was read
	}
	var none C
	return none, fmt.Errorf("no answer for %s: %w", lookLimit, context.DeadlineExceeded)
}

func noSuchFile() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is no such file."}
}

func notReady() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "not_ready", Msg: "This file is not ready yet.", RetryAfter: 2 * time.Second}
}

// whyMissing says why a file cannot be played: only then is a query worth its
// time.
func (a *App) whyMissing(ctx context.Context, place string, id video.ID, name video.Name, thumbnail int) error {
	v, err := a.store.Video(ctx, id)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	r, ok := v.Resolution(name)
	if err != nil || !ok || !v.DeletedAt.IsZero() || playPlace(v) != place || thumbnail >= len(v.Thumbnails) {
		return noSuchFile()
	}
	if !r.Status.Finished() {
		return notReady()
	}
	return noSuchFile()
}
