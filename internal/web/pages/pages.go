// Package pages serves the pages that people without an API key see: /watch/{id} with a public video,
// /embed/… with the player alone, for frames in other sites, /share/… with a video that a publisher shares, and /oembed,
// which tells other sites how to show it. /signin/… leads people into the console.
//
// Pages are made on the server with html/template, so that a link shows its title and picture where it
// is pasted, and every title is escaped. A video that is not playable yet has a page too: its script
// asks for the state (the same URL with ?state) and puts the player there when there is something to
// play.
//
// The pages need no key, and each costs a query or two, so the requests of each client address are
// limited. Their content security policy allows the scripts of this server and nothing inline. Only
// embed pages may be shown in frames.
package pages

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/netip"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/web/assets"
	"github.com/spool-video/spool/internal/web/player"
)

//go:embed page template
var embedded embed.FS

// Config holds the settings.
type Config struct {
	// Origins are further URLs that videos are played from.
	Origins []string
	// Base returns the base of the URLs in the response to a request.
	Base func(*http.Request) (string, error)
	// Client returns the network of the client that made a request.
	Client func(*http.Request) netip.Prefix
	// Brands are how tenants look.
	Brands *brand.Service
	// SignIn signs people in to the console.
	SignIn *signin.Service
	// Secure reports whether cookies in the response to a request are for https alone.
	Secure func(*http.Request) bool
	// TrustedProxies are the peers whose X-Forwarded-For header names the client.
	TrustedProxies []netip.Prefix
	// Counted has players tell what is watched.
	Counted bool
	// Unlimited lets each client make as many requests as it likes.
	Unlimited bool
}

type pages struct {
	Config
	catalog   *catalog.Catalog
	shares    *share.Service
	rates     *limit.Rates[netip.Prefix]
	templates *template.Template
	player    *assets.Files
	own       *assets.Files
	policy    string // without frame-ancestors
}

// Register adds the pages, their files and the player's to mux.
func Register(mux *http.ServeMux, c *catalog.Catalog, shares *share.Service, config Config) error {
	p := &pages{Config: config, catalog: c, shares: shares, rates: limit.NewRates[netip.Prefix](perSecond, burst, time.Now)}
	var err error
	if p.policy, err = policyFor(config.Origins); err != nil {
		return err
	}
	if p.templates, err = template.ParseFS(embedded, "template/*.html"); err != nil {
		return fmt.Errorf("read the templates of pages: %w", err)
	}
	if p.player, err = player.Load(); err != nil {
		return err
	}
	files, err := fs.Sub(embedded, "page")
	if err != nil {
		return err
	}
	if p.own, err = assets.Load("pages", files, assets.Design()); err != nil {
		return err
	}
	player.Register(mux, p.player)
	p.own.Register(mux)
	mux.HandleFunc("GET /watch/{id}", p.limited(p.watch))
	mux.HandleFunc("GET /embed/{id}", p.limited(p.embedPublic))
	mux.HandleFunc("GET /embed/{token}/{id}", p.limited(p.embedPrivate))
	mux.HandleFunc("GET /share/{secret}", p.limited(p.sharePage))
	mux.HandleFunc("POST /share/{secret}", p.limited(p.unlock))
	mux.HandleFunc("GET /share/{secret}/download", p.limited(p.shareDownload))
	mux.HandleFunc("GET /signin", p.limited(p.signIn))
	mux.HandleFunc("GET /signin/provider", p.limited(p.signInProvider))
	mux.HandleFunc("GET "+signin.Callback, p.limited(p.signedIn))
	mux.HandleFunc("GET /signin/link/{secret}", p.limited(p.useLink))
	mux.HandleFunc("GET /oembed", p.oembed)
	mux.HandleFunc("GET "+brandPath+"{file}", p.limited(p.brandFile))
	return nil
}

// policyFor returns the Content-Security-Policy of all pages, up to the frames that they may be in.
// blob: is how hls.js hands the stream to the browser, data: the source of its text tracks, which is empty.
func policyFor(urls []string) (string, error) {
	allowed, err := assets.Sources(urls)
	if err != nil {
		return "", fmt.Errorf("pages cannot allow %w", err)
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src " + allowed + "; img-src " + allowed + "; " +
		"media-src blob: data: " + allowed + "; base-uri 'none'; form-action 'none'; " +
		"require-trusted-types-for 'script'; trusted-types spool-player; frame-ancestors ", nil
}
