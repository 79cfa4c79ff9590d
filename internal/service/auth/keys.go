package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Key is an API key as it is stored. The secret itself is shown once, when the key is created.
type Key struct {
	ID        string
	Name      string
	Tenant    video.Tenant
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	MadeBy    string    // ID of the key that made it over the API; empty: the operator made it
}

// MaxTenant is the length of the longest name of a tenant.
const MaxTenant = 100

// keyPrefix makes a key recognisable to people and to secret scanners.
const keyPrefix = "spool_"

// Keys are the API keys.
type Keys struct {
	rows rows
	now  func() time.Time
	log  *slog.Logger
}

// NewKeys returns the API keys in a database.
func NewKeys(s *store.Store, now func() time.Time, log *slog.Logger) *Keys {
	return &Keys{rows: rows{s}, now: now, log: log}
}

// Authenticate finds the actor behind an API key. An empty secret is missing_api_key; an unknown,
// revoked or expired one is invalid_api_key.
func (k *Keys) Authenticate(ctx context.Context, secret string) (Actor, error) {
	if secret == "" {
		return Actor{}, &video.Error{Kind: video.Unauthenticated, Code: "missing_api_key", Msg: "Send your API key in the header X-API-KEY."}
	}
	hash := hashKey(secret)
	row, err := keyByHash(ctx, k.rows.store.Queries, hash)
	if video.KindOf(err) == video.NotFound || err == nil && !k.valid(row, hash) {
		return Actor{}, invalidKey()
	}
	if err != nil {
		return Actor{}, err
	}
	return actorOf(row), nil
}

// Actor returns who holds the key with this ID. One that is not valid any more is invalid_api_key.
func (k *Keys) Actor(ctx context.Context, id string) (Actor, error) {
	found, err := keysByID(ctx, k.rows.store.Queries, []string{id})
	if err != nil {
		return Actor{}, err
	}
	if len(found) == 0 || !k.inForce(found[0]) {
		return Actor{}, invalidKey()
	}
	return actorOf(found[0]), nil
}

func actorOf(row keyRow) Actor {
	return Actor{KeyID: row.ID, Name: row.Name, Tenant: row.Tenant, Scopes: scopesOf(row), Until: row.ExpiresAt}
}

func invalidKey() *video.Error {
	return &video.Error{Kind: video.Unauthenticated, Code: "invalid_api_key", Msg: "This API key is unknown, revoked or expired."}
}

func (k *Keys) valid(row keyRow, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hash)) == 1 && k.inForce(row)
}

// inForce reports whether a key is neither revoked nor expired.
func (k *Keys) inForce(row keyRow) bool {
	return row.RevokedAt.IsZero() && (row.ExpiresAt.IsZero() || k.now().Before(row.ExpiresAt))
}

// Valid reports which of the keys with these IDs are neither revoked nor expired. It takes one query.
func (k *Keys) Valid(ctx context.Context, ids []string) (map[string]bool, error) {
	rows, err := keysByID(ctx, k.rows.store.Queries, ids)
	if err != nil {
		return nil, err
	}
	valid := make(map[string]bool, len(rows))
	for _, row := range rows {
		valid[row.ID] = k.inForce(row)
	}
	return valid, nil
}

// hashKey needs neither salt nor a slow hash: keys made here have 256 random bits, and operators
// who choose their own are told to choose a long random one.
func hashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func scopesOf(row keyRow) []Scope {
	all := make([]Scope, len(row.Scopes))
	for i, s := range row.Scopes {
		all[i] = Scope(s)
	}
	return all
}

// Create makes a key and returns its secret. Name, Tenant, Scopes and ExpiresAt are the caller's;
// no scope means all of them, no tenant means the default one.
func (k *Keys) Create(ctx context.Context, key Key) (secret string, created Key, err error) {
	secret = newSecret()
	created, row, err := k.newKey(key, secret)
	if err != nil {
		return secret, created, err
	}
	return secret, created, k.rows.insert(ctx, row)
}

func newSecret() string {
	random := make([]byte, 32)
	rand.Read(random)
	return keyPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// newKey fills in the defaults of a key, and returns it with its row.
func (k *Keys) newKey(key Key, secret string) (Key, keyRow, error) {
	if len(key.Scopes) == 0 {
		key.Scopes = Scopes
	}
	if key.Tenant == "" {
		key.Tenant = video.DefaultTenant
	}
	if err := checkKey(key, k.now()); err != nil {
		return Key{}, keyRow{}, err
	}
	key.ID, key.CreatedAt = uuid.Must(uuid.NewV7()).String(), k.now().UTC().Truncate(time.Millisecond) // as rows keep it
	row := keyRow{ID: key.ID, Name: key.Name, Tenant: key.Tenant, Hash: hashKey(secret), CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt, MadeBy: key.MadeBy}
	for _, s := range key.Scopes {
		row.Scopes = append(row.Scopes, string(s))
	}
	return key, row, nil
}

func checkKey(k Key, now time.Time) error {
	var faults []video.Fault
	for _, s := range k.Scopes {
		if !slices.Contains(Scopes, s) {
			faults = append(faults, video.Fault{Field: "scopes", Code: "not_allowed", Message: fmt.Sprintf("%q is not one of %v", s, Scopes)})
		}
	}
	if strings.TrimSpace(string(k.Tenant)) == "" || len(k.Tenant) > MaxTenant {
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

// Bootstrap makes sure that a first key exists. A given secret becomes a key of the default tenant,
// and the key that the setting named before is revoked. Without a secret, and without any key yet,
// it creates a key and returns its secret; otherwise it returns "".
func (k *Keys) Bootstrap(ctx context.Context, secret string) (made string, err error) {
	if secret != "" {
		return "", k.adoptSetting(ctx, secret)
	}
	keys, err := allKeys(ctx, k.rows.store.Queries)
	if err != nil || len(keys) > 0 {
		return "", err
	}
	made, _, err = k.Create(ctx, Key{Name: "first start"})
	return made, err
}

// adoptSetting is one transaction, because the API processes of a fleet start at the same time, and
// some with the old and some with the new secret while the setting changes.
func (k *Keys) adoptSetting(ctx context.Context, secret string) error {
	_, row, err := k.newKey(Key{Name: settingName}, secret)
	if err != nil {
		return err
	}
	if err := k.rows.adopt(ctx, row); err != nil {
		return err
	}
	switch _, err := k.Authenticate(ctx, secret); {
	case video.KindOf(err) == video.Unauthenticated: // it was created by hand, and revoked
		k.log.WarnContext(ctx, "the API key in the settings was revoked or has expired; choose another one")
		return nil
	default:
		return err
	}
}

// List returns all keys, oldest first.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	rows, err := allKeys(ctx, k.rows.store.Queries)
	if err != nil {
		return nil, err
	}
	all := make([]Key, len(rows))
	for i, r := range rows {
		all[i] = viewKey(r)
	}
	return all, nil
}

func viewKey(r keyRow) Key {
	return Key{ID: r.ID, Name: r.Name, Tenant: r.Tenant, Scopes: scopesOf(r), CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt, MadeBy: r.MadeBy}
}

// Revoke makes a key invalid at once.
func (k *Keys) Revoke(ctx context.Context, id string) error {
	return k.rows.revoke(ctx, id, k.now())
}
