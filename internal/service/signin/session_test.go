package signin

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const issuer = "https://id.example.com"

// lab is the service on a database, with a clock that the test turns.
type lab struct {
	*Service
	t   *testing.T
	at  time.Time
	ctx context.Context
}

// newLab returns a lab whose admin is boss@example.com, and where groups grant.
func newLab(t *testing.T, st *store.Store) *lab {
	l := &lab{t: t, at: time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC), ctx: t.Context()}
	now := func() time.Time { return l.at }
	keys := auth.NewKeys(st, now, slog.New(slog.DiscardHandler))
	sign, err := auth.LoadSigningKeys(t.Context(), st, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.Service = New(Config{Policy: Policy{Issuer: issuer, Admins: []string{"boss@example.com"}, Claim: "groups"}}, st, keys, sign, now)
	return l
}

// signIn signs in a person with these grants, and returns the secret and the actor.
func (l *lab) signIn(address string, granted ...string) (string, auth.Actor) {
	l.t.Helper()
	who := Person{Issuer: issuer, Subject: "id of " + address, Address: address, Name: "Name", Claim: "groups", Granted: granted}
	secret, err := l.Admit(l.ctx, who, From{"192.0.2.1", "Browser\n\x1b[31m"}, address+time.Now().String())
	if err != nil {
		l.t.Fatal(err)
	}
	return secret, l.who(secret)
}

func (l *lab) who(secret string) auth.Actor {
	l.t.Helper()
	by, err := l.Authenticate(l.ctx, secret)
	if err != nil {
		l.t.Fatal(err)
	}
	return by
}

// wantOut checks that a secret opens nothing.
func (l *lab) wantOut(secret, why string) {
	l.t.Helper()
	if by, err := l.Authenticate(l.ctx, secret); video.KindOf(err) != video.Unauthenticated {
		l.t.Errorf("%s: the session is of %+v, %v", why, by, err)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"a session acts for its person, and ends", testSession},
		{"a session ends with the rights of its person", testRightsEnd},
		{"a person chooses among their tenants", testChoice},
		{"sessions of other tenants are not found", testTenants},
		{"a sign-in makes one session", testOnce},
		{"a link opens one session of its key", testLink},
		{"a link does not survive guesses or time", testGuesses},
		{"a person makes keys that outlive the session", testKeys},
		{"sessions that have ended are removed", testExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func testSession(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	secret, by := l.signIn("ann@example.com", "acme:read")
	if by.Person != "ann@example.com" || by.Tenant != "acme" || by.KeyID != "" || by.Require(auth.Read) != nil || by.Require(auth.Write) == nil {
		t.Errorf("the actor is %+v", by)
	}
	page, err := l.List(l.ctx, auth.Actor{Tenant: "acme", Scopes: auth.Scopes}, video.Cursor{}, 10)
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Browser != "Browser[31m" || page.Sessions[0].Client != "192.0.2.1" {
		t.Errorf("the list is %+v, %v", page, err)
	}
	for _, wrong := range []string{"", "x", secret + "x", strings.ToLower(secret), page.Sessions[0].ID} {
		l.wantOut(wrong, "a wrong secret")
	}
	if _, err := l.List(l.ctx, by, video.Cursor{}, 10); video.KindOf(err) != video.Forbidden {
		t.Errorf("without admin the list is %v", err)
	}
	if err := l.End(l.ctx, by, by.Session); err != nil {
		t.Fatal(err)
	}
	l.wantOut(secret, "after the sign-out")

	secret, _ = l.signIn("ann@example.com", "acme:read")
	l.at = l.at.Add(Life)
	l.wantOut(secret, "after twelve hours")
}

func testRightsEnd(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	boss, bossActor := l.signIn("boss@example.com")
	ann, annActor := l.signIn("ann@example.com", "acme:read")
	if bossActor.RequireOperator() != nil {
		t.Errorf("the admin is %+v", bossActor)
	}
	restarted := New(Config{Policy: Policy{Issuer: issuer, Claim: "groups"}}, st, l.keys, l.sign, l.now)
	if _, err := restarted.Authenticate(l.ctx, boss); video.KindOf(err) != video.Unauthenticated {
		t.Errorf("somebody who is no admin any more: %v", err)
	}
	valid, err := restarted.Valid(l.ctx, []string{bossActor.Session, annActor.Session, "unknown"})
	if err != nil || valid[bossActor.Session] || !valid[annActor.Session] || valid["unknown"] {
		t.Errorf("valid are %v, %v", valid, err)
	}
	if n, err := restarted.EndUnentitled(l.ctx); err != nil || n != 1 {
		t.Errorf("%d sessions ended, %v; want one", n, err)
	}
	l.wantOut(boss, "after the start without the admin, in another process")
	l.who(ann)
	if n, err := New(Config{}, st, l.keys, l.sign, l.now).EndUnentitled(l.ctx); err != nil || n != 1 {
		t.Errorf("%d sessions ended without a provider, %v; want one", n, err)
	}
	log, err := audit.New(st, l.now).List(l.ctx, auth.Actor{Tenant: "acme", Scopes: auth.Scopes}, audit.Filter{Action: video.ActionSessionEnd}, video.Cursor{}, 10)
	if err != nil || len(log.Entries) != 1 || log.Entries[0].Doer.Kind != video.DoerSystem {
		t.Errorf("the log is %+v, %v", log, err)
	}
}

func testChoice(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	if _, _, err := l.keys.Create(l.ctx, auth.Key{Tenant: "zoo"}); err != nil {
		t.Fatal(err)
	}
	ann, by := l.signIn("ann@example.com", "b:read", "a:read,write")
	if _, tenants, err := l.Mine(l.ctx, by); err != nil || len(tenants) != 2 || tenants[0] != "a" {
		t.Errorf("the tenants are %v, %v", tenants, err)
	}
	if err := l.Choose(l.ctx, by, by.Session, "zoo"); video.KindOf(err) != video.Forbidden {
		t.Errorf("a tenant of others: %v", err)
	}
	if err := l.Choose(l.ctx, by, by.Session, "a"); err != nil {
		t.Fatal(err)
	}
	if now := l.who(ann); now.Tenant != "a" || now.Require(auth.Write) != nil {
		t.Errorf("the actor is %+v", now)
	}
	boss, by := l.signIn("boss@example.com")
	if err := l.Choose(l.ctx, by, l.who(ann).Session, "zoo"); video.KindOf(err) != video.NotFound {
		t.Errorf("the session of somebody else: %v", err)
	}
	if err := l.Choose(l.ctx, by, by.Session, "nowhere"); video.KindOf(err) != video.Forbidden {
		t.Errorf("a tenant that does not exist: %v", err)
	}
	if err := l.Choose(l.ctx, by, by.Session, "zoo"); err != nil || l.who(boss).Tenant != "zoo" {
		t.Errorf("the admin in another tenant: %+v, %v", l.who(boss), err)
	}
	if l.who(boss).RequireOperator() == nil {
		t.Error("in another tenant, the admin is the operator")
	}
}

func testTenants(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	secret, ann := l.signIn("ann@example.com", "acme:read")
	_, stranger := l.signIn("bea@example.com", "other:admin")
	_, boss := l.signIn("boss@example.com")
	if page, err := l.List(l.ctx, stranger, video.Cursor{}, 10); err != nil || len(page.Sessions) != 1 {
		t.Errorf("the list of another tenant is %+v, %v", page, err)
	}
	if err := l.End(l.ctx, stranger, ann.Session); video.KindOf(err) != video.NotFound {
		t.Errorf("the admin of another tenant ends it: %v", err)
	}
	if err := l.End(l.ctx, ann, stranger.Session); video.KindOf(err) != video.Forbidden {
		t.Errorf("somebody without admin ends another session: %v", err)
	}
	l.who(secret)
	first, err := l.List(l.ctx, boss, video.Cursor{}, 2)
	if err != nil || len(first.Sessions) != 2 {
		t.Fatalf("the first page of the operator is %+v, %v", first, err)
	}
	if second, err := l.List(l.ctx, boss, first.Next, 2); err != nil || len(second.Sessions) != 1 {
		t.Errorf("the second page of the operator is %+v, %v", second, err)
	}
	if err := l.End(l.ctx, boss, ann.Session); err != nil {
		t.Error(err)
	}
	l.wantOut(secret, "after the operator has ended it")
}

func testOnce(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	who := Person{Issuer: issuer, Address: "boss@example.com"}
	_, errFirst := l.Admit(l.ctx, who, From{}, "state")
	_, errAgain := l.Admit(l.ctx, who, From{}, "state")
	if errFirst != nil || video.KindOf(errAgain) != video.Forbidden {
		t.Errorf("first %v, again %v", errFirst, errAgain)
	}
	if _, err := l.Admit(l.ctx, Person{Issuer: issuer}, From{}, "other"); err == nil {
		t.Error("somebody without rights has a session")
	}
}

// newLink returns a link of a new key.
func (l *lab) newLink() (secret string, key auth.Key) {
	l.t.Helper()
	_, key, err := l.keys.Create(l.ctx, auth.Key{Name: "first start"})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.NewLink(key.ID), key
}

func testLink(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	link, key := l.newLink()
	secret, err := l.UseLink(l.ctx, link, From{})
	if err != nil {
		t.Fatal(err)
	}
	if by := l.who(secret); by.KeyID != key.ID || by.Person != "" || by.RequireOperator() != nil || by.Session == "" {
		t.Errorf("the actor is %+v", by)
	}
	if _, err := l.UseLink(l.ctx, link, From{}); video.KindOf(err) != video.Forbidden {
		t.Errorf("the second use: %v", err)
	}
	if n, err := l.EndUnentitled(l.ctx); err != nil || n != 0 {
		t.Errorf("a start ends %d sessions of links, %v", n, err)
	}
	if err := l.keys.Revoke(l.ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	l.wantOut(secret, "after its key was revoked")
}

func testGuesses(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	link, _ := l.newLink()
	for range maxGuesses {
		if _, err := l.UseLink(l.ctx, "guess", From{}); err == nil {
			t.Fatal("a guess opens a session")
		}
	}
	if _, err := l.UseLink(l.ctx, link, From{}); err == nil {
		t.Error("the link survives guesses")
	}
	link, _ = l.newLink()
	l.at = l.at.Add(LinkLife)
	if _, err := l.UseLink(l.ctx, link, From{}); err == nil {
		t.Error("the link works after its time")
	}
	if _, err := newLab(t, st).UseLink(l.ctx, "", From{}); err == nil {
		t.Error("an empty link works where there is none")
	}
}

func testKeys(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	_, by := l.signIn("ann@example.com", "acme:read,admin")
	_, key, err := l.keys.CreateOwn(l.ctx, by, auth.KeyDraft{Name: "site"})
	if err != nil || key.MadeBy != "ann@example.com" || !key.ExpiresAt.IsZero() || len(key.Scopes) != 2 {
		t.Errorf("the key is %+v, %v", key, err)
	}
	if _, _, err := l.keys.CreateOwn(l.ctx, by, auth.KeyDraft{Name: "more", Scopes: []auth.Scope{auth.Delete}}); video.KindOf(err) != video.Forbidden {
		t.Errorf("a key with more scopes: %v", err)
	}
}

func testExpired(t *testing.T, st *store.Store) {
	l := newLab(t, st)
	l.signIn("boss@example.com")
	l.at = l.at.Add(time.Hour)
	_, by := l.signIn("boss@example.com")
	if err := RemoveExpired(l.ctx, st, l.at.Add(Life-time.Hour)); err != nil {
		t.Fatal(err)
	}
	all, err := findSessions(l.ctx, st.Queries, ``)
	if err != nil || len(all) != 1 || all[0].ID != by.Session {
		t.Errorf("what is left is %+v, %v", all, err)
	}
}

func TestSessionsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx, q, now, next := t.Context(), tx.Queries, time.Now(), video.Cursor{CreatedAt: time.Now(), ID: "x"}
		for _, run := range []func() error{
			func() error { _, err := findSessions(ctx, q, `WHERE hash = $1`, "h"); return err },
			func() error { _, err := sessionsByID(ctx, q, []string{"a", "b"}); return err },
			func() error { _, err := sessionsOf(ctx, q, "acme", now, next, 10); return err },
			func() error { _, err := sessionsOf(ctx, q, "", now, next, 10); return err },
			func() error { _, err := removeExpired(ctx, tx, now, 10); return err },
			func() error { _, err := tenantExists(ctx, q, "acme"); return err },
		} {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	})
}
