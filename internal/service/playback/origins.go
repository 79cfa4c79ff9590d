package playback

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// Visit is where a request for a file comes from, as its headers say.
type Visit struct {
	Origin, Referer string
	SameOrigin      bool                   // the browser says that a page of this very server asks
	Server          func() (string, error) // what addresses of this server start with
}

// admits reports whether a request from there may have a file. An Origin of "null" belongs to a page that hides where it
// is from, so it is none of the sites, and no request without an origin either.
func (k known) admits(from Visit) bool {
	if from.SameOrigin {
		return true
	}
	address := from.Origin
	if address == "" {
		address = from.Referer
	}
	if address == "" {
		return k.noOrigin
	}
	o, ok := video.ParseOrigin(address)
	if !ok {
		return false
	}
	if slices.ContainsFunc(k.sites, func(s video.Site) bool { return s.Of(o) }) {
		return true
	}
	server, err := from.Server()
	own, known := video.ParseOrigin(server)
	return err == nil && known && own == o
}

// Admit checks an address of a file and where the request for it comes from. The Access that it returns opens the file
// without another check.
func (p *Player) Admit(ctx context.Context, a Access, file string, from Visit) (Access, error) {
	at, k, page, err := p.check(ctx, a, file)
	if err != nil {
		return a, err
	}
	a.checked, a.Restricted = at, k.restricted
	if !a.Restricted || page || isPoster(file) || k.admits(from) {
		return a, nil
	}
	if a.Token == "" && !k.public { // that a private video exists is secret
		return a, noSuchFile()
	}
	return a, notOnThisSite()
}

// MayPlay returns the error origin_not_allowed if a page that asks from there may not play a video.
func (from Visit) MayPlay(v video.Video) error {
	if !v.Restricted() || (known{sites: v.Sites(), noOrigin: v.AllowNoOrigin}).admits(from) {
		return nil
	}
	return notOnThisSite()
}

func notOnThisSite() error {
	return &video.Error{Kind: video.Forbidden, Code: "origin_not_allowed", Msg: "This video may not be played on this site."}
}

// isPoster reports whether a file is the poster, in any format. It is shown where links are shared.
func isPoster(file string) bool {
	jpeg, _ := video.CutFormat(file)
	return jpeg == video.PosterFile
}
