package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

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

func (a Actor) must(s Scope) error {
	if slices.Contains(a.Scopes, s) {
		return nil
	}
	return &video.Error{Kind: video.Forbidden, Code: "insufficient_scope", Msg: fmt.Sprintf("This API key lacks the scope %q.", s)}
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

// keyPrefix makes a key recognisable to people and to secret scanners.
const keyPrefix = "spool_"

// Authenticate finds the actor behind an API key. An empty secret is
// missing_api_key; an unknown, revoked or expired one invalid_api_key.
func (a *App) Authenticate(ctx context.Context, secret string) (Actor, error) {
	if secret == "" {
		return Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "missing_api_key", Msg: "Send your API key in the header X-API-KEY."}
	}
	hash := hashKey(secret)
	k, err := a.store.APIKeys().ByHash(ctx, hash)
	if video.KindOf(err) == video.NotFound || err == nil && !a.valid(k, hash) {
		return Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "invalid_api_key", Msg: "This API key is unknown, revoked or expired."}
	}
	if err != nil {
		return Actor{}, err
	}
	return Actor{KeyID: k.ID, Tenant: k.Tenant, Scopes: scopesOf(k)}, nil
}

func (a *App) valid(k store.Key, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hash)) == 1 &&
		k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || a.now().Before(k.ExpiresAt))
}

// hashKey needs no salt and no slowness: keys that we make have 256 random bits.
// Whoever chooses a key of his own is told to choose a long random one.
func hashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func scopesOf(k store.Key) []Scope {
	all := make([]Scope, len(k.Scopes))
	for i, s := range k.Scopes {
		all[i] = Scope(s)
	}
	return all
}

// CreateKey makes a key and returns its secret. Name, Tenant, Scopes and
// ExpiresAt are the caller's; no scope means all, no tenant the default one.
func (a *App) CreateKey(ctx context.Context, k Key) (secret string, created Key, err error) {
	random := make([]byte, 32)
	rand.Read(random)
	secret = keyPrefix + base64.RawURLEncoding.EncodeToString(random)
	created, row, err := a.newKey(k, secret)
	if err != nil {
		return secret, created, err
	}
	return secret, created, a.store.APIKeys().Insert(ctx, row)
}

// newKey fills in what k leaves open, and returns it with its row.
func (a *App) newKey(k Key, secret string) (Key, store.Key, error) {
	if len(k.Scopes) == 0 {
		k.Scopes = Scopes
	}
	if k.Tenant == "" {
		k.Tenant = video.DefaultTenant
	}
	if err := checkKey(k, a.now()); err != nil {
		return Key{}, store.Key{}, err
	}
	k.ID, k.CreatedAt = a.newID(), a.now().UTC()
	row := store.Key{ID: k.ID, Name: k.Name, Tenant: k.Tenant, Hash: hashKey(secret), CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt}
	for _, s := range k.Scopes {
		row.Scopes = append(row.Scopes, string(s))
	}
	return k, row, nil
}

func checkKey(k Key, now time.Time) error {
	var faults []video.Fault
	for _, s := range k.Scopes {
		if !slices.Contains(Scopes, s) {
			faults = append(faults, video.Fault{Field: "scopes", Code: "not_allowed", Message: fmt.Sprintf("%q is not one of %v", s, Scopes)})
		}
	}
	if strings.TrimSpace(string(k.Tenant)) == "" || len(k.Tenant) > 100 {
		faults = append(faults, video.Fault{Field: "tenant", Code: "out_of_range", Message: "must have 1 to 100 characters"})
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		faults = append(faults, video.Fault{Field: "expires", Code: "out_of_range", Message: "must lie in the future"})
	}
	if faults != nil {
		return video.InvalidFields(faults...)
	}
	return nil
}

// settingName is the name of the key that the setting api_key made.
const settingName = "api_key setting"

// Bootstrap makes sure that a first key exists. With a secret given it becomes a
// key of the default tenant, and the key that the setting named before is
// revoked. Without one, and without any key yet, it makes a key and returns its
// secret; otherwise it returns "".
func (a *App) Bootstrap(ctx context.Context, secret string) (made string, err error) {
	if secret != "" {
		return "", a.adoptSetting(ctx, secret)
	}
	keys, err := a.store.APIKeys().List(ctx)
	if err != nil || len(keys) > 0 {
		return "", err
	}
	made, _, err = a.CreateKey(ctx, Key{Name: "first start"})
	return made, err
}

// adoptSetting is one transaction, because the API processes of a fleet start
// at the same time, and with the old and the new key in turns while it changes.
func (a *App) adoptSetting(ctx context.Context, secret string) error {
	_, row, err := a.newKey(Key{Name: settingName}, secret)
	if err != nil {
		return err
	}
	if err := a.store.APIKeys().Adopt(ctx, row); err != nil {
		return err
	}
	switch _, err := a.Authenticate(ctx, secret); {
	case video.KindOf(err) == video.Unauthenticated: // it was made by hand, and revoked
		a.log.WarnContext(ctx, "the API key in the settings is one that was revoked or has expired; choose another")
		return nil
	default:
		return err
	}
}

// Keys lists all keys, oldest first.
func (a *App) Keys(ctx context.Context) ([]Key, error) {
	rows, err := a.store.APIKeys().List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Key, len(rows))
	for i, k := range rows {
		all[i] = Key{ID: k.ID, Name: k.Name, Tenant: k.Tenant, Scopes: scopesOf(k), CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt}
	}
	return all, nil
}

// RevokeKey makes a key invalid at once.
func (a *App) RevokeKey(ctx context.Context, id string) error {
	return a.store.APIKeys().Revoke(ctx, id, a.now())
}
