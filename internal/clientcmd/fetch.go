package clientcmd

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/spool-video/spool/client"
)

// isURL reports whether an argument is an address rather than a file.
func isURL(file string) bool {
	lower := strings.ToLower(file)
	return strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://")
}

// fetch has the server fetch a file from an address.
func (u *uploads) fetch(ctx context.Context, address string, r *row) (client.Video, error) {
	r.fetched = true
	created, err := u.client.Create(ctx, client.NewVideo{
		Filename: nameIn(address), Resolutions: u.Resolutions, Public: u.Public, Title: u.Title, Metadata: u.metadata, Codecs: u.Codecs,
		SourceURL: address,
	})
	if err != nil {
		return client.Video{}, err
	}
	if !u.Wait || !r.board.live {
		r.printLine("the server fetches it as %s", forTerminal(created.ID))
	}
	return client.Video{ID: created.ID, Status: client.PendingUpload, Public: created.Public}, u.addCaptions(ctx, created.ID)
}

// maxName is the length of the longest name of a file that the server takes, in characters.
const maxName = 255

// nameIn returns the name of the file at an address.
func nameIn(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "video" // the server says what is wrong
	}
	name := path.Base(u.Path)
	if name == "." || name == "/" || strings.ContainsRune(name, 0) {
		return "video"
	}
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[len(runes)-maxName:]) // the extension is at the end
	}
	return name
}
