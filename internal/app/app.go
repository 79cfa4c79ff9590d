// Package app decides: who may do what, which status follows which, what an
// object's key is, and what belongs into one transaction. Requests and due tasks
// both come through it, so every rule is written once.
package app

import (
	"context"
	"io"
	"time"

	"github.com/spool-video/spool/internal/blob"
	"github.com/spool-video/spool/internal/video"
)

// App is the service behind the HTTP edge and the workers.
type App struct { /* … */
}

// Scope is something a key may do.
type Scope string

const (
	Read   Scope = "read"
	Write  Scope = "write"
	Delete Scope = "delete"
)

// Scopes lists all of them.
var Scopes = []Scope{Read, Write, Delete}

// Actor is who makes a request.
type Actor struct {
	KeyID  string
	Tenant video.Tenant
	Scopes []Scope
}

// Key is an API key as it is stored: the secret itself is shown once, when it
// is made, and never again.
type Key struct {
	ID        string
	Name      string
	Tenant    video.Tenant
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
}

// Authenticate finds the actor behind an API key. An empty secret is
// missing_api_key; an unknown, revoked or expired one invalid_api_key.
func (a *App) Authenticate(ctx context.Context, secret string) (Actor, error) { panic("todo") }

// CreateKey makes a key and returns its secret. ID and CreatedAt of k are set here.
func (a *App) CreateKey(ctx context.Context, k Key) (secret string, created Key, err error) {
	panic("todo")
}

// Keys lists all keys, oldest first.
func (a *App) Keys(ctx context.Context) ([]Key, error) { panic("todo") }

// RevokeKey makes a key invalid at once.
func (a *App) RevokeKey(ctx context.Context, id string) error { panic("todo") }

// Upload is a new video and where its file goes.
type Upload struct {
	Video    video.Video
	URL      string
	MaxBytes int64
}

// CreateVideo makes a video that waits for its upload. base is what addresses
// handed out start with, such as "https://video.example.com".
func (a *App) CreateVideo(ctx context.Context, by Actor, d video.Draft, base string) (Upload, error) {
	panic("todo")
}

// CompleteUpload verifies the uploaded file and queues its transcoding. Calling
// it again changes nothing.
func (a *App) CompleteUpload(ctx context.Context, by Actor, id video.ID) (video.Video, error) {
	panic("todo")
}

// Watch is a video as its viewers need it.
type Watch struct {
	Video       video.Video
	Progress    float64           // 0 to 1
	Resolutions []WatchResolution // in the order asked for
}

// WatchResolution is one resolution with its addresses.
type WatchResolution struct {
	video.Resolution
	Progress      float64
	VideoURL      string
	ThumbnailURLs []string
}

// PublicVideo returns a public video with its permanent addresses.
func (a *App) PublicVideo(ctx context.Context, by Actor, id video.ID, base string) (Watch, error) {
	panic("todo")
}

// PrivateVideo returns a private video with addresses that expire after ttl.
func (a *App) PrivateVideo(ctx context.Context, by Actor, id video.ID, ttl time.Duration, base string) (Watch, error) {
	panic("todo")
}

// DeleteVideo removes a video and everything of it. When it returns nil, its
// addresses are dead and reads do not find it.
func (a *App) DeleteVideo(ctx context.Context, by Actor, id video.ID) error { panic("todo") }

// DeleteResolution does the same for one resolution.
func (a *App) DeleteResolution(ctx context.Context, by Actor, id video.ResolutionID) error {
	panic("todo")
}

// Incoming is a file arriving at an upload address.
type Incoming struct {
	Token       string // the signed part of the address
	Video       video.ID
	ContentType string
	Length      int64 // -1 when the client does not say
	Body        io.Reader
}

// ReceiveUpload stores the file of a PUT to an upload address and returns its ETag.
func (a *App) ReceiveUpload(ctx context.Context, in Incoming) (etag string, err error) { panic("todo") }

// OpenPublic opens a file of a public video for playback: file is such as
// "720p.mp4" or "720p-0.jpg". A file that does not exist yet is not_ready; one
// that never will be is not_found.
func (a *App) OpenPublic(ctx context.Context, id video.ID, file string) (blob.Object, error) {
	panic("todo")
}

// OpenSigned opens a file of a private video for the holder of a signed address.
func (a *App) OpenSigned(ctx context.Context, token string, id video.ID, file string) (blob.Object, error) {
	panic("todo")
}

// Ready reports whether the database and the storage answer.
func (a *App) Ready(ctx context.Context) error { panic("todo") }
