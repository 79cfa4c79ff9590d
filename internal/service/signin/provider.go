package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

const (
	// FlowLife is how long signing in at the provider may take.
	FlowLife = 10 * time.Minute
	// providerTimeout is how long the provider may take to answer.
	providerTimeout = 10 * time.Second
	// Callback is the path that the provider sends people back to.
	Callback = "/signin/callback"
)

// Provider returns the name of the provider for people, its host; "": the server has no provider.
func (s *Service) Provider() string {
	u, err := url.Parse(s.config.Issuer)
	if err != nil {
		return ""
	}
	return u.Host
}

// flow is what the browser keeps while its user is at the provider.
type flow struct {
	State, Nonce, Verifier string
	To                     string // the fragment of the console to go back to
}

// Begin returns where a browser is sent to sign in, and the cookie that it brings back. base is what URLs of this server
// start with, to the fragment of the console to return to.
func (s *Service) Begin(ctx context.Context, base, to string) (address, cookie string, err error) {
	_, client, err := s.connect(ctx, base)
	if err != nil {
		return "", "", err
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to}
	text, err := json.Marshal(f)
	if err != nil {
		return "", "", err
	}
	payload := base64.RawURLEncoding.EncodeToString(text)
	cookie = payload + "~" + s.sign.Sign(sign.SignIn, payload, s.now().Add(FlowLife))
	return client.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), cookie, nil
}

// Return is what a browser brings back from the provider.
type Return struct {
	Cookie, State, Code, Issuer string
	Error                       string // why the provider signed no one in
}

// Finish signs in a person who comes back from the provider. It returns the secret of the session and the fragment of the
// console to go to.
func (s *Service) Finish(ctx context.Context, base string, r Return, from From) (secret, to string, err error) {
	f, err := s.flowOf(ctx, r.Cookie)
	if err != nil {
		return "", "", err
	}
	if subtle.ConstantTimeCompare([]byte(f.State), []byte(r.State)) != 1 || r.Issuer != "" && r.Issuer != s.config.Issuer {
		return "", "", expired(nil)
	}
	if r.Error != "" || r.Code == "" {
		return "", "", &video.Error{Kind: video.Forbidden, Code: "sign_in_refused",
			Msg: fmt.Sprintf("%s did not sign you in. Try again, or ask its administrator.", s.Provider()), Err: fmt.Errorf("the provider says %q", r.Error)}
	}
	who, err := s.identify(ctx, base, f, r.Code)
	if err != nil {
		return "", "", err
	}
	secret, err = s.Admit(ctx, who, from, f.State)
	return secret, f.To, err
}

// Admit makes a session for a person whom the provider vouches for, and returns its secret. once identifies the sign-in.
func (s *Service) Admit(ctx context.Context, who Person, from From, once string) (secret string, err error) {
	if s.config.Rights(who).None() {
		return "", &video.Error{Kind: video.Forbidden, Code: "not_entitled",
			Msg: fmt.Sprintf("You signed in at %s as %s. This account may not use this server: ask its operator for access.", s.Provider(), who.who())}
	}
	return s.open(ctx, Session{Person: who}, from, once)
}

// flowOf reads the cookie of a flow.
func (s *Service) flowOf(ctx context.Context, cookie string) (f flow, err error) {
	payload, token, _ := strings.Cut(cookie, "~")
	err = s.sign.Verify(ctx, sign.SignIn, payload, token)
	if video.KindOf(err) == video.Forbidden {
		return f, expired(err)
	}
	if err != nil {
		return f, err
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	return f, err
}

func expired(err error) error {
	return &video.Error{Kind: video.Forbidden, Code: "sign_in_expired", Err: err,
		Msg: "This sign-in took too long, was used already, or was begun in another browser. Begin again."}
}

// identify exchanges a code for the identity of a person.
func (s *Service) identify(ctx context.Context, base string, f flow, code string) (Person, error) {
	provider, client, err := s.connect(ctx, base)
	if err != nil {
		return Person{}, err
	}
	ctx = clientContext(ctx)
	tokens, err := client.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Person{}, s.failed(fmt.Errorf("exchange the code: %w", err))
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: s.config.ClientID, Now: s.now}).Verify(ctx, raw)
	if err != nil {
		return Person{}, s.failed(fmt.Errorf("verify the ID token: %w", err))
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return Person{}, s.failed(fmt.Errorf("the ID token is of another sign-in"))
	}
	return s.personOf(id)
}

// personOf reads the claims of an ID token. An address counts only if the provider vouches for it: otherwise anybody could
// claim to be an admin.
func (s *Service) personOf(id *oidc.IDToken) (Person, error) {
	var c struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send a text
		Name     string `json:"name"`
	}
	var all map[string]any
	if err := id.Claims(&c); err != nil {
		return Person{}, s.failed(err)
	}
	if err := id.Claims(&all); err != nil {
		return Person{}, s.failed(err)
	}
	p := Person{Issuer: s.config.Issuer, Subject: oneLine(id.Subject), Name: oneLine(c.Name), Claim: s.config.Claim, Granted: grantsIn(all[s.config.Claim])}
	if c.Verified == true || c.Verified == "true" {
		p.Address = strings.ToLower(oneLine(c.Email))
	}
	if p.Name == "" {
		p.Name = p.ID()
	}
	return p, nil
}

// maxGrants is how many grants a person may have.
const maxGrants = 1000

// grantsIn returns the grants in a claim that is a text, or a list of them. What else a provider tells of a person is not kept.
func grantsIn(claim any) (all []string) {
	var texts []any
	switch v := claim.(type) {
	case string:
		for text := range strings.FieldsSeq(v) {
			texts = append(texts, text)
		}
	case []any:
		texts = v
	}
	for _, one := range texts {
		text, _ := one.(string)
		if _, ok := parseGrant(text); ok && len(all) < maxGrants {
			all = append(all, text)
		}
	}
	return all
}

// connect returns the provider, and this server as its client.
func (s *Service) connect(ctx context.Context, base string) (*oidc.Provider, *oauth2.Config, error) {
	if s.config.Issuer == "" {
		return nil, nil, &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "This server has no provider to sign in with. Enter an API key."}
	}
	found, err := s.provider.Get(ctx)
	if err != nil {
		return nil, nil, s.failed(fmt.Errorf("ask for the endpoints: %w", err))
	}
	client := &oauth2.Config{ClientID: s.config.ClientID, ClientSecret: s.config.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: base + Callback, Scopes: scopesOf(found)}
	return found, client, nil
}

const (
	// askAgain is how long the endpoints of the provider are known, and askSoon how long it is known that it does not answer.
	askAgain = time.Hour
	askSoon  = 2 * time.Second
)

// newProvider returns what asks a provider for its endpoints.
func newProvider(issuer string) *cache.Recent[*oidc.Provider] {
	ask := func(ctx context.Context) (*oidc.Provider, error) { return oidc.NewProvider(clientContext(ctx), issuer) }
	return cache.NewRecent(ask, providerTimeout, func(_ time.Duration, err error) time.Duration {
		if err != nil {
			return askSoon
		}
		return askAgain
	})
}

// scopesOf returns which claims are asked for. Some providers tell the groups of a person only to those who ask.
func scopesOf(p *oidc.Provider) []string {
	all := []string{oidc.ScopeOpenID, "email", "profile"}
	var about struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := p.Claims(&about); err == nil && slices.Contains(about.Scopes, "groups") {
		all = append(all, "groups")
	}
	return all
}

func clientContext(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Timeout: providerTimeout})
}

// failed is the answer where the provider does not do what it should.
func (s *Service) failed(err error) error {
	return &video.Error{Kind: video.Unavailable, Code: "provider_unavailable", RetryAfter: 10 * time.Second, Err: fmt.Errorf("sign in at %s: %w", s.config.Issuer, err),
		Msg: fmt.Sprintf("Signing in at %s does not work right now. Try again in a minute, or enter an API key.", s.Provider())}
}
