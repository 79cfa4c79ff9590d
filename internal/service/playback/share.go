package playback

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// The addresses that the page of a share hands out name the share: its ID is in front of the signature, which covers it.
// So they end when the share is deleted, although the signature lives longer.

const (
	// shareOutage is how long a share is believed to be there while the database does not answer. With shareCache it is
	// how long an address may outlive its share: less than a minute.
	shareOutage = 20 * time.Second
	// shareCache is how long a client may keep what such an address sends.
	shareCache = 30 * time.Second
	// sharesSize is how much memory the known shares may take.
	sharesSize = 4 << 20
)

// SharedURLs returns addresses of a video that expire, and that end when a share is deleted.
func SharedURLs(v video.Video, base Base, keys *auth.SigningKeys, expires time.Time, share string) URLs {
	return urls(v, func(file string) string {
		purpose, subject := signedFor(v.ID, file)
		return base.Files + "/v/" + share + "." + keys.Sign(purpose, sharedSubject(share, subject), expires) + "/" + string(v.ID) + "/" + file
	})
}

// sharedSubject is what the address of a share is signed for. No other subject begins like this.
func sharedSubject(share, subject string) string { return "share/" + share + "/" + subject }

// cutShare splits the signed part of an address of a share.
func cutShare(token string) (share, rest string, ok bool) {
	if strings.Count(token, ".") != 3 { // others have two
		return "", token, false
	}
	return strings.Cut(token, ".")
}

// ValidFor returns how long a client may keep what an address with this token sends.
func ValidFor(token string, now time.Time) time.Duration {
	_, rest, shared := cutShare(token)
	left := sign.Expiry(rest).Sub(now)
	if shared {
		left = min(left, shareCache)
	}
	return left
}

// seenShare is what was known of a share a moment ago.
type seenShare struct {
	video   video.ID
	public  bool      // the video's files
	expires time.Time // zero: never
	readAt  time.Time
}

// sharedArea checks the signed part of an address of a share, and returns where its file lies.
func (p *Player) sharedArea(ctx context.Context, a Access, share, token, file string) (objects.Area, error) {
	purpose, subject := signedFor(a.Video, file)
	if err := p.keys.Verify(ctx, purpose, sharedSubject(share, subject), token); err != nil {
		return "", err
	}
	now := p.now()
	s, known := p.shares.Get(share)
	if age := now.Sub(s.readAt).Abs(); !known || age >= lookupAge {
		found, err := readShare(ctx, p.store.Queries, share)
		switch {
		case err == nil:
			s, found.readAt = found, now
			p.shares.Put(strings.Clone(share), found, 250)
		case !known || age > shareOutage:
			return "", err
		}
	}
	switch {
	case s.video != a.Video || !s.expires.IsZero() && !now.Before(s.expires):
		return "", &video.Error{Kind: video.Forbidden, Code: "url_expired", Msg: "The link that this address belongs to was deleted, or has expired."}
	case s.public:
		return objects.Public, nil
	}
	return objects.Private, nil
}

// readShare reads a share. It belongs to no video if it is gone.
func readShare(ctx context.Context, q store.Queries, share string) (s seenShare, err error) {
	var expires sql.NullInt64
	err = q.QueryRow(ctx, `
		SELECT v.id, v.is_public, s.expires_at FROM share AS s JOIN video AS v ON v.id = s.video_id
		 WHERE s.id = $1 AND v.deleted_at IS NULL`, share).Scan(&s.video, &s.public, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return seenShare{}, nil
	}
	s.expires = store.FromMillis(expires)
	return s, store.Wrap("find the share of an address", err)
}
