package clientcmd

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/client"
)

// An ID begins with the time at which it was made, in milliseconds: two hexadecimal groups. On a terminal spool ls shows these and a
// third one, which is chance, and every command takes so much of an ID, or more, or less, for a video.

// shortLength is how much of an ID spool ls shows on a terminal.
const shortLength = len("0198c5b6-7d5e-7c3a")

// shortened is the beginning of an ID, long enough that few videos have it: eight digits are a minute.
var shortened = regexp.MustCompile(`^[0-9a-f]{8}(-([0-9a-f]{0,4}|[0-9a-f]{4}-[0-9a-f-]{0,21}))?$`)

// idDelay is how much later than its ID a video may be created: the server chooses the ID first.
const idDelay = time.Minute

// clientFor returns a client, as Connection.client does, and completes IDs of videos that were shortened.
func (c *Connection) clientFor(ctx context.Context, env *Environment, retryFor time.Duration, ids ...*string) (*client.Client, error) {
	api, err := c.client(env, retryFor)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if *id, err = complete(ctx, api, *id); err != nil {
			return nil, err
		}
	}
	return api, nil
}

// read returns a client, and a video, whose ID may be shortened, with addresses that are valid for life.
func (c *Connection) read(ctx context.Context, env *Environment, id string, life time.Duration) (*client.Client, client.Video, error) {
	api, err := c.clientFor(ctx, env, short, &id)
	if err != nil {
		return nil, client.Video{}, err
	}
	v, err := api.Video(ctx, id, life)
	return api, v, err
}

// each returns the address of each ID.
func each(ids []string) []*string {
	all := make([]*string, len(ids))
	for i := range ids {
		all[i] = &ids[i]
	}
	return all
}

// complete returns the ID of the only video that begins with id. An ID that is not shortened stays, and so does one of no video:
// the server says that it knows no such video.
func complete(ctx context.Context, api *client.Client, id string) (string, error) {
	typed := strings.ToLower(id)
	if !shortened.MatchString(typed) {
		return id, nil
	}
	from, to := madeBetween(typed)
	var found []string
	for v, err := range api.Videos(ctx, client.Filter{CreatedAfter: from.Add(-time.Millisecond), CreatedBefore: to.Add(idDelay)}) {
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(v.ID, typed) {
			found = append(found, v.ID)
		}
	}
	if len(found) > 1 {
		return "", &UsageError{Text: fmt.Sprintf("%d videos have an ID that begins with %s: type more of %s", len(found), id, forTerminal(strings.Join(found, ", ")))}
	}
	return append(found, id)[0], nil
}

// madeBetween returns the times between which the IDs were made that begin like this.
func madeBetween(beginning string) (from, to time.Time) {
	const digits = 12 // of the time
	hex := strings.ReplaceAll(beginning, "-", "")
	hex = hex[:min(digits, len(hex))]
	bits := 4 * (digits - len(hex))
	n, _ := strconv.ParseInt(hex, 16, 64) // the pattern lets nothing else in
	return time.UnixMilli(n << bits), time.UnixMilli((n + 1) << bits)
}

// shown returns an ID as spool ls shows it: short where a person reads it.
func (env *Environment) shown(id string) string {
	if !env.Interactive || len(id) <= shortLength {
		return id
	}
	return id[:shortLength]
}
