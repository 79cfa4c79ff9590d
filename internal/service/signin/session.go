package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Life is how long a session lasts.
const Life = 12 * time.Hour

// mostTenants is how many tenants somebody who may work in all of them is offered.
const mostTenants = 500

// Session is a browser in which somebody is signed in.
type Session struct {
	ID        string
	KeyID     string // the key that it stands for; "": it is of a Person
	Person    Person
	Tenant    video.Tenant // that the person has chosen
	Client    string       // IP address of the sign-in
	Browser   string       // what the browser calls itself
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Service signs people in, and knows who is.
type Service struct {
	config Config
	store  *store.Store
	keys   *auth.Keys
	sign   *auth.SigningKeys
	now    func() time.Time
	link   link

	// provider asks the provider for its endpoints. Requests share one question, and its answer for a while.
	provider *cache.Recent[*oidc.Provider]
}

// Config is what an operator may choose.
type Config struct {
	Policy
	ClientID, ClientSecret string
}

// New returns the service.
func New(c Config, s *store.Store, keys *auth.Keys, sign *auth.SigningKeys, now func() time.Time) *Service {
	return &Service{config: c, store: s, keys: keys, sign: sign, now: now, provider: newProvider(c.Issuer)}
}

func notFound() error {
	return &video.Error{Kind: video.NotFound, Code: "session_not_found", Msg: "There is no such session."}
}

// errUsed says that a sign-in has made a session already.
var errUsed = &video.Error{Kind: video.Forbidden, Code: "sign_in_expired", Msg: "This sign-in was used already. Begin again."}

// Ended is the code of the answer to a cookie of a session that is not there any more.
const Ended = "session_ended"

var errEnded = &video.Error{Kind: video.Unauthenticated, Code: Ended, Msg: "You are signed out. Sign in again."}

// From is the browser that somebody signs in with.
type From struct{ Client, Browser string }

// open stores a session and returns its secret. once identifies the sign-in, which makes one session at most.
func (s *Service) open(ctx context.Context, made Session, from From, once string) (secret string, err error) {
	now := s.now().UTC().Truncate(time.Millisecond)
	made.ID, made.CreatedAt, made.ExpiresAt = uuid.Must(uuid.NewV7()).String(), now, now.Add(Life)
	made.Client, made.Browser = from.Client, oneLine(from.Browser)
	by, err := s.actor(ctx, made)
	if err != nil {
		return "", err
	}
	made.Tenant = by.Tenant
	secret = rand.Text() + rand.Text()
	ctx = audit.By(ctx, by, from.Client)
	return secret, s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := insertSession(ctx, tx, made, hashOf(secret), hashOf(once)); err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionSessionCreate, Target: made.ID})
	})
}

// hashOf needs neither salt nor a slow hash: what it hashes has more than 128 random bits.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// oneLine returns what a browser or a provider says as a short line.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if all := []rune(s); len(all) > 200 {
		s = string(all[:200])
	}
	return strings.TrimSpace(s)
}

// Authenticate returns who holds the cookie with this secret.
func (s *Service) Authenticate(ctx context.Context, secret string) (auth.Actor, error) {
	found, err := findSession(ctx, s.store.Queries, `WHERE hash = $1`, hashOf(secret))
	if err == nil && !s.now().Before(found.ExpiresAt) || video.KindOf(err) == video.NotFound {
		err = errEnded
	}
	if err != nil {
		return auth.Actor{}, err
	}
	return s.actor(ctx, found)
}

// actor returns what a session may do now.
func (s *Service) actor(ctx context.Context, of Session) (auth.Actor, error) {
	if of.KeyID != "" {
		by, err := s.keys.Actor(ctx, of.KeyID)
		if video.KindOf(err) == video.Unauthenticated {
			err = errEnded
		}
		by.Session = of.ID
		return by, err
	}
	rights := s.config.Rights(of.Person)
	if rights.None() {
		return auth.Actor{}, errEnded
	}
	g := rights.In(of.Tenant)
	return auth.Actor{Person: of.Person.ID(), Name: of.Person.Name, Session: of.ID, Tenant: g.Tenant, Scopes: g.Scopes}, nil
}

// Mine returns the session of an actor, and the tenants that they may choose from, by name.
func (s *Service) Mine(ctx context.Context, by auth.Actor) (Session, []video.Tenant, error) {
	mine, err := findSession(ctx, s.store.Queries, `WHERE id = $1`, by.Session)
	if err != nil || mine.KeyID != "" {
		return mine, []video.Tenant{by.Tenant}, err
	}
	rights := s.config.Rights(mine.Person)
	var all []video.Tenant
	if rights.Everywhere {
		if all, err = tenantNames(ctx, s.store.Queries, mostTenants); err != nil {
			return mine, nil, err
		}
	}
	for _, g := range rights.Grants {
		all = append(all, g.Tenant)
	}
	slices.Sort(all)
	return mine, slices.Compact(all), nil
}

// Choose has the session of an actor work in another tenant.
func (s *Service) Choose(ctx context.Context, by auth.Actor, id string, tenant video.Tenant) error {
	if by.Session == "" || by.Session != id || by.Person == "" {
		return notFound()
	}
	mine, err := findSession(ctx, s.store.Queries, `WHERE id = $1`, id)
	if err != nil {
		return err
	}
	rights := s.config.Rights(mine.Person)
	allowed := slices.ContainsFunc(rights.Grants, func(g Grant) bool { return g.Tenant == tenant })
	if !allowed && rights.Everywhere {
		if allowed, err = tenantExists(ctx, s.store.Queries, tenant); err != nil {
			return err
		}
	}
	if !allowed {
		return &video.Error{Kind: video.Forbidden, Code: "tenant_not_allowed", Msg: "You may not work in this tenant, or it does not exist."}
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := setTenant(ctx, tx, id, tenant); err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionSessionTenant, Tenant: tenant, Target: id})
	})
}

// Page is a part of the list of sessions.
type Page struct {
	Sessions []Session
	Next     video.Cursor // where the next page begins; zero: this is the last
}

// List returns at most limit sessions, newest first, from after on: those in the actor's tenant, for the operator all.
func (s *Service) List(ctx context.Context, by auth.Actor, after video.Cursor, limit int) (Page, error) {
	if err := by.Require(auth.Admin); err != nil {
		return Page{}, err
	}
	tenant := by.Tenant
	if by.RequireOperator() == nil {
		tenant = ""
	}
	all, err := sessionsOf(ctx, s.store.Queries, tenant, s.now(), after, limit+1)
	if err != nil || len(all) <= limit {
		return Page{Sessions: all}, err
	}
	last := all[limit-1]
	return Page{Sessions: all[:limit], Next: video.Cursor{CreatedAt: last.CreatedAt, ID: video.ID(last.ID)}}, nil
}

// End ends a session: the actor's own, or with the scope admin another one of the list.
func (s *Service) End(ctx context.Context, by auth.Actor, id string) error {
	if by.Session == "" || id != by.Session {
		if err := by.Require(auth.Admin); err != nil {
			return err
		}
		found, err := findSession(ctx, s.store.Queries, `WHERE id = $1`, id)
		if err == nil && found.Tenant != by.Tenant && by.RequireOperator() != nil {
			err = notFound()
		}
		if err != nil {
			return err
		}
	}
	return s.end(ctx, by.Tenant, id)
}

func (s *Service) end(ctx context.Context, tenant video.Tenant, id string) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := removeSession(ctx, tx, id); err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionSessionEnd, Tenant: tenant, Target: id})
	})
}

// Valid reports which of the sessions with these IDs still entitle to something.
func (s *Service) Valid(ctx context.Context, ids []string) (map[string]bool, error) {
	found, err := sessionsByID(ctx, s.store.Queries, ids)
	if err != nil {
		return nil, err
	}
	valid := make(map[string]bool, len(found))
	for _, one := range found {
		_, err := s.actor(ctx, one)
		if err != nil && video.KindOf(err) != video.Unauthenticated {
			return nil, err
		}
		valid[one.ID] = err == nil && s.now().Before(one.ExpiresAt)
	}
	return valid, nil
}

// batch is how many sessions are looked at, or removed, at a time.
const batch = 200

// EndUnentitled ends the sessions of people who may do nothing any more, and returns how many there were.
func (s *Service) EndUnentitled(ctx context.Context) (ended int, err error) {
	for after := (video.Cursor{}); ; {
		page, err := sessionsOf(ctx, s.store.Queries, "", s.now(), after, batch)
		if err != nil {
			return ended, err
		}
		for _, one := range page {
			if _, err = s.actor(ctx, one); errors.Is(err, errEnded) {
				err = s.end(ctx, one.Tenant, one.ID)
				ended++
			}
			if err != nil && video.KindOf(err) != video.NotFound { // another process was faster
				return ended, err
			}
		}
		if len(page) < batch {
			return ended, nil
		}
		last := page[len(page)-1]
		after = video.Cursor{CreatedAt: last.CreatedAt, ID: video.ID(last.ID)}
	}
}

// RemoveExpired removes sessions that have ended, a few in each transaction.
func RemoveExpired(ctx context.Context, s *store.Store, now time.Time) error {
	for more := true; more; {
		err := s.InTx(ctx, func(tx *store.Tx) error {
			n, err := removeExpired(ctx, tx, now, batch)
			more = n == batch
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// who names a person in a sentence.
func (p Person) who() string { return cmp.Or(p.Address, p.Name, p.Subject) }
