package clientcmd

import (
	"context"
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
	v := u.wanted
	v.SourceURL = address
	created, err := u.client.Create(ctx, v)
	if err != nil {
		return client.Video{}, err
	}
	if !u.Wait || !r.board.live {
		r.printLine("the server fetches it as %s", forTerminal(created.ID))
	}
	return client.Video{ID: created.ID, Status: client.PendingUpload, Public: created.Public}, u.addCaptions(ctx, created.ID)
}
