package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// Upload is a new video and where its file goes.
type Upload struct {
	Video    video.Video
	URL      string
	TusURL   string // for an upload in pieces
	MaxBytes int64
	Repeated bool // an earlier request with the same key made the video
}

// CreateVideo makes a video that waits for its upload. base is what addresses
// handed out start with, such as "https://video.example.com".
func (a *App) CreateVideo(ctx context.Context, by Actor, d video.Draft, base string) (Upload, error) {
	if err := by.must(Write); err != nil {
		return Upload{}, err
	}
	if faults := d.Check(); faults != nil {
		return Upload{}, video.InvalidFields(faults...)
	}
	v, err := a.draw(by, d)
	if err != nil {
		return Upload{}, err
	}
	address, err := a.uploadURL(ctx, v, base)
	if err != nil {
		return Upload{}, err
	}
	stored, err := a.insert(ctx, v, d)
	if err != nil {
		return Upload{}, err
	}
	repeated := stored.ID != v.ID
	if repeated {
		if address, err = a.uploadURL(ctx, stored, base); err != nil {
			return Upload{}, err
		}
	}
	return Upload{Video: stored, URL: address, TusURL: a.resumableURL(stored.ID, base), MaxBytes: a.cfg.MaxUploadBytes, Repeated: repeated}, nil
}

// draw makes the video that a draft asks for.
func (a *App) draw(by Actor, d video.Draft) (video.Video, error) {
	// Times are stored to the millisecond, and so they are in addresses: what a
	// client is told must be the very moment.
	now := a.now().UTC().Truncate(time.Millisecond)
	v := video.Video{
		ID: video.ID(a.newID()), Tenant: by.Tenant, Filename: d.Filename, ContentType: contentType(d.Filename),
		IsPublic: d.IsPublic, Upscale: a.cfg.Upscale, Thumbnails: d.Thumbnails,
		Status: video.PendingUpload, CreatedAt: now, UploadExpiresAt: now.Add(a.cfg.UploadURLTTL),
	}
	if d.Upscale != nil {
		v.Upscale = *d.Upscale
	}
	if d.Metadata != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, d.Metadata); err != nil {
			return video.Video{}, fmt.Errorf("store metadata: %w", err)
		}
		v.Metadata = compact.Bytes()
	}
	for _, n := range video.Distinct(d.Resolutions) {
		v.Resolutions = append(v.Resolutions, video.Resolution{ID: video.ResolutionID(a.newID()), VideoID: v.ID, Name: n, Status: video.PendingUpload})
	}
	return v, nil
}

// uploadURL is where the file of a video goes, until v.UploadExpiresAt.
func (a *App) uploadURL(ctx context.Context, v video.Video, base string) (string, error) {
	if p := a.blobs.Capabilities().Presign; p != nil {
		life := v.UploadExpiresAt.Sub(a.now()) + time.Second - 1 // such addresses count whole seconds
		address, err := p.PresignPut(ctx, uploadKey(v.ID), v.ContentType, max(life.Truncate(time.Second), time.Second))
		if err != nil {
			return "", storageError("presign upload", err)
		}
		return address, nil
	}
	return base + "/upload/" + a.ring.Sign(sign.Upload, string(v.ID), v.UploadExpiresAt) + "/" + string(v.ID), nil
}

// Watch is a video as its viewers need it: with addresses.
type Watch struct {
	State
	HLS, DASH string                   // where the stream of all resolutions begins
	Addresses map[video.Name]Addresses // of every resolution
}

// Addresses say where one resolution is played.
type Addresses struct {
	Film       string
	Thumbnails []string // one for each timestamp, in the order given
}

// PublicVideo returns a public video with its permanent addresses.
func (a *App) PublicVideo(ctx context.Context, by Actor, id video.ID, base string) (Watch, error) {
	v, err := a.visible(ctx, by, Read, id)
	if err != nil {
		return Watch{}, err
	}
	if !v.IsPublic {
		return Watch{}, &video.Error{Kind: video.Forbidden, Code: "video_is_private",
			Msg: "This video is private. Read it at /api/video/{id}/private/{expirationSeconds}."}
	}
	return a.watch(ctx, v, func(file string) string {
		return base + "/v/" + string(id) + "/" + file
	})
}

// PrivateVideo returns a private video with addresses that expire after ttl.
func (a *App) PrivateVideo(ctx context.Context, by Actor, id video.ID, ttl time.Duration, base string) (Watch, error) {
	v, err := a.visible(ctx, by, Read, id)
	if err != nil {
		return Watch{}, err
	}
	if v.IsPublic {
		return Watch{}, &video.Error{Kind: video.Forbidden, Code: "video_is_public",
			Msg: "This video is public. Read it at /api/video/{id}/public."}
	}
	expires := a.now().Add(ttl)
	return a.watch(ctx, v, func(file string) string {
		purpose, subject := playSubject(id, file)
		return base + "/v/" + a.ring.Sign(purpose, subject, expires) + "/" + string(id) + "/" + file
	})
}

func (a *App) watch(ctx context.Context, v video.Video, address func(file string) string) (Watch, error) {
	states, err := a.states(ctx, []video.Video{v})
	if err != nil {
		return Watch{}, err
	}
	w := Watch{State: states[0], HLS: address(stream.MasterFile), DASH: address(stream.ManifestFile), Addresses: map[video.Name]Addresses{}}
	for _, r := range v.Resolutions {
		to := Addresses{Film: address(filmFile(r.Name))}
		for i := range v.Thumbnails {
			to.Thumbnails = append(to.Thumbnails, address(thumbnailFile(r.Name, i)))
		}
		w.Addresses[r.Name] = to
	}
	return w, nil
}
