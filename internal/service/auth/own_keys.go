package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxMadeKeys is how many valid keys of a tenant may have been made over the API. Those that the
	// operator has made do not count.
	MaxMadeKeys = 100
	// keptMadeKeys is how many of those keys stay in the database after their end, for spool keys list.
	keptMadeKeys = 100
	// MaxKeyName is the length of the longest name of a key that is made over the API, in characters.
	MaxKeyName = 100
	// MaxKeyLife is how long such a key is valid at most, unless it never ends.
	MaxKeyLife = 10 * 365 * 24 * time.Hour
)

// KeyDraft describes a key that another one makes.
type KeyDraft struct {
	Name   string
	Scopes []Scope       // nil: the scopes of the key that makes it
	Life   time.Duration // 0: it ends with the key that makes it
}

// KeyPage is a part of the list of a tenant's keys.
type KeyPage struct {
	Keys []Key
	Next video.Cursor // where the next page begins; zero: this is the last
}

// CreateOwn makes a key for the actor's tenant and returns its secret, which is told this once. The key has
// no scope that the actor lacks, and ends no later than the actor's key: otherwise a key that was lent for a
// day could be kept for ever.
func (k *Keys) CreateOwn(ctx context.Context, by Actor, d KeyDraft) (secret string, created Key, err error) {
	if err := by.Require(Admin); err != nil {
		return "", Key{}, err
	}
	if faults := slices.Concat(checkKeyName(d.Name), checkKeyScopes(d.Scopes), checkKeyLife(d.Life)); len(faults) > 0 {
		return "", Key{}, video.InvalidFields(faults...)
	}
	key := Key{Name: d.Name, Tenant: by.Tenant, Scopes: by.Scopes, MadeBy: by.ID()}
	if d.Scopes != nil {
		if i := slices.IndexFunc(d.Scopes, func(s Scope) bool { return !slices.Contains(by.Scopes, s) }); i >= 0 {
			return "", Key{}, &video.Error{Kind: video.Forbidden, Code: "insufficient_scope",
				Msg: fmt.Sprintf("%s the scope %q, so it cannot make a key that has it.", by.lacks(), d.Scopes[i])}
		}
		key.Scopes = slices.DeleteFunc(slices.Clone(Scopes), func(s Scope) bool { return !slices.Contains(d.Scopes, s) })
	}
	if d.Life > 0 {
		key.ExpiresAt = k.now().Add(d.Life).UTC().Truncate(time.Millisecond) // as rows keep it
	}
	if !by.Until.IsZero() && (d.Life == 0 || by.Until.Before(key.ExpiresAt)) {
		key.ExpiresAt = by.Until
	}
	secret = newSecret()
	key, row, err := k.newKey(key, secret)
	if err != nil {
		return "", Key{}, err
	}
	inserted, err := k.rows.insertMade(ctx, row, by.KeyID, MaxMadeKeys, keptMadeKeys)
	switch {
	case video.KindOf(err) == video.NotFound: // the actor's key was revoked since the request began
		err = invalidKey()
	case err == nil && !inserted:
		err = &video.Error{Kind: video.Conflict, Code: "too_many_keys",
			Msg: fmt.Sprintf("You have made %d keys over the API, the most that are allowed. Revoke one first.", MaxMadeKeys)}
	}
	if err != nil {
		return "", Key{}, err
	}
	k.log.InfoContext(ctx, "an API key was made over the API", "key", key.ID, "name", key.Name, "tenant", key.Tenant, "scopes", key.Scopes, "by", by.ID())
	return secret, key, nil
}

// ListOwn returns at most limit keys of the actor's tenant that are not revoked, newest first, from after on.
func (k *Keys) ListOwn(ctx context.Context, by Actor, after video.Cursor, limit int) (KeyPage, error) {
	if err := by.Require(Admin); err != nil {
		return KeyPage{}, err
	}
	rows, err := keysOfTenant(ctx, k.rows.store.Queries, by.Tenant, after, limit+1)
	if err != nil {
		return KeyPage{}, err
	}
	var p KeyPage
	if len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		p.Next = video.Cursor{CreatedAt: last.CreatedAt, ID: video.ID(last.ID)}
	}
	for _, r := range rows {
		p.Keys = append(p.Keys, viewKey(r))
	}
	return p, nil
}

// RevokeOwn makes a key of the actor's tenant invalid at once, which may be the actor's own.
func (k *Keys) RevokeOwn(ctx context.Context, by Actor, id string) error {
	if err := by.Require(Admin); err != nil {
		return err
	}
	if err := k.rows.revokeOf(ctx, by.Tenant, id, k.now()); err != nil {
		return err
	}
	k.log.InfoContext(ctx, "an API key was revoked over the API", "key", id, "tenant", by.Tenant, "by", by.ID())
	return nil
}

// checkKeyName refuses names that would deceive those who read them in a terminal.
func checkKeyName(name string) []video.Fault {
	fault := func(code, message string) []video.Fault {
		return []video.Fault{{Field: "name", Code: code, Message: message}}
	}
	deceives := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}
	switch n := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) == "" || n > MaxKeyName:
		return fault("out_of_range", fmt.Sprintf("must have 1 to %d characters", MaxKeyName))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, deceives):
		return fault("not_allowed", "must not contain control characters")
	case name == settingName: // the next start of a server would revoke it
		return fault("not_allowed", "is the name of the key in the settings")
	}
	return nil
}

func checkKeyScopes(scopes []Scope) []video.Fault {
	var faults []video.Fault
	if scopes != nil && len(scopes) == 0 || len(scopes) > 2*len(Scopes) {
		return []video.Fault{{Field: "scopes", Code: "out_of_range", Message: fmt.Sprintf("must have 1 to %d entries", 2*len(Scopes))}}
	}
	for i, s := range scopes {
		if !slices.Contains(Scopes, s) {
			faults = append(faults, video.Fault{Field: fmt.Sprintf("scopes[%d]", i), Code: "not_allowed", Message: fmt.Sprintf("must be one of %v", Scopes)})
		}
	}
	return faults
}

func checkKeyLife(life time.Duration) []video.Fault {
	if life < 0 || life > MaxKeyLife || life > 0 && life < time.Second {
		return []video.Fault{{Field: "expiresIn", Code: "out_of_range", Message: fmt.Sprintf("must be a whole number from 1 to %d", int64(MaxKeyLife/time.Second))}}
	}
	return nil
}
