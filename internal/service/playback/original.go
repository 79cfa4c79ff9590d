package playback

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// OriginalPath is the last element of the address of an uploaded file. No playback file has this name.
const OriginalPath = "original"

// Original is an uploaded file, and where it is.
type Original struct {
	Video   video.Video
	URL     string
	Expires time.Time
}

// Original returns an address of the file that was uploaded for a video. It expires after ttl, or earlier if the
// operator set a shorter life of signed addresses.
func (p *Player) Original(ctx context.Context, by auth.Actor, id video.ID, ttl time.Duration, base string) (Original, error) {
	v, err := auth.VisibleVideo(ctx, p.store, by, auth.Read, id)
	if err != nil {
		return Original{}, err
	}
	if v.CompletedAt.IsZero() {
		return Original{}, &video.Error{Kind: video.Conflict, Code: "upload_incomplete", Msg: "The file of this video has not arrived yet."}
	}
	stat, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if _, err := p.blobs.Stat(stat, v.Source.Key); err != nil {
		return Original{}, originalError(err)
	}
	expires := p.keys.Expiry(ttl).Truncate(time.Millisecond) // as precise as the address says it
	address := base + "/v/" + p.keys.Sign(sign.Original, string(id), expires) + "/" + string(id) + "/" + OriginalPath
	return Original{Video: v, URL: address, Expires: expires}, nil
}

// OriginalFile is an uploaded file that a client may have.
type OriginalFile struct {
	ContentType string
	Disposition string // the file keeps its own name
	key         string
	expires     time.Time
	restricted  bool // to some sites: the storage never serves it
}

// FindOriginal returns the uploaded file for the holder of a token of its address.
func (p *Player) FindOriginal(ctx context.Context, a Access) (OriginalFile, error) {
	if err := p.keys.Verify(ctx, sign.Original, string(a.Video), a.Token); err != nil {
		return OriginalFile{}, err
	}
	v, err := p.store.Video(ctx, a.Video)
	if err == nil && (!v.DeletedAt.IsZero() || v.CompletedAt.IsZero()) {
		err = video.VideoNotFound()
	}
	if err != nil {
		return OriginalFile{}, err
	}
	return OriginalFile{
		ContentType: v.ContentType, Disposition: attachment(video.SafeFilename(v.Filename)), key: v.Source.Key, expires: sign.Expiry(a.Token),
		restricted: v.Restricted(),
	}, nil
}

// OpenOriginal opens an uploaded file.
func (p *Player) OpenOriginal(ctx context.Context, f OriginalFile) (Content, error) {
	if err := limit.TurnOf(ctx).File(ctx); err != nil {
		return nil, err
	}
	o, err := p.openObject(ctx, f.key)
	if err != nil {
		return nil, originalError(err)
	}
	return o, nil
}

// RedirectOriginal returns where the storage itself serves an uploaded file, for GET only. It is "" where the storage
// does not serve it.
func (p *Player) RedirectOriginal(ctx context.Context, f OriginalFile) (string, error) {
	life := p.redirectLifeUntil(f.expires)
	if p.redirect == nil || f.restricted || life == 0 {
		return "", nil
	}
	stat, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if _, err := p.blobs.Stat(stat, f.key); err != nil {
		return "", originalError(err)
	}
	address, err := p.redirect.PresignGet(ctx, f.key, life, f.Disposition)
	if err != nil {
		return "", blob.ServiceError("presign an original", err)
	}
	return address, nil
}

// originalError explains why an uploaded file cannot be opened. A file that was removed after the encoding is gone for
// good.
func originalError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &video.Error{Kind: video.NotFound, Code: "original_gone", Msg: "This server does not keep uploaded files (keep_source), so this one is gone."}
	}
	return blob.ServiceError("open an original", err)
}
