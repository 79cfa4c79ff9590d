package share_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

var home = netip.MustParsePrefix("192.0.2.1/32")

// both runs a test on both databases.
func both(t *testing.T, test func(t *testing.T, r *servicetest.Rig)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, servicetest.New(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, servicetest.NewPostgres(t, pgtest.Fresh(t), func(s *disk.Store) blob.Store { return s }))
	})
}

func make1(r *servicetest.Rig, id video.ID, d share.Draft) share.Share {
	r.T.Helper()
	s, err := r.Shares.Create(r.T.Context(), r.By, id, d)
	r.Must(err)
	return s
}

// code is the code of an error.
func code(err error) string {
	if err == nil {
		return ""
	}
	c, _, _ := strings.Cut(err.Error(), ":")
	return c
}

func TestTheLifeOfAShare(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *servicetest.Rig) {
		ctx := t.Context()
		v, other := r.Create(video.Draft{}).Video, r.Create(video.Draft{}).Video
		first := make1(r, v.ID, share.Draft{Label: "Press"})
		second := make1(r, v.ID, share.Draft{ExpiresAt: r.Now().Add(time.Hour), Password: "hush", Download: true})
		all, err := r.Shares.List(ctx, r.By, v.ID)
		if err != nil || len(all) != 2 || all[0] != second || all[1] != first || first.Secret == second.Secret || len(first.Secret) < 26 {
			t.Fatalf("the list is %+v, %v; want %+v and %+v", all, err, second, first)
		}
		if got, err := r.Shares.Find(ctx, second.Secret); err != nil || got != second {
			t.Errorf("Find = %+v, %v", got, err)
		}
		for _, secret := range []string{"", "x", string(first.ID), strings.ToUpper(first.Secret), first.Secret[1:] + "a"} {
			if _, err := r.Shares.Find(ctx, secret); code(err) != "share_not_found" {
				t.Errorf("Find(%q) = %v", secret, err)
			}
		}
		r.Advance(time.Hour)
		if _, err := r.Shares.Find(ctx, second.Secret); code(err) != "share_expired" {
			t.Errorf("after its expiry Find = %v", err)
		}
		if err := r.Shares.Delete(ctx, r.By, other.ID, first.ID); code(err) != "share_not_found" {
			t.Errorf("deleting it as one of another video = %v", err)
		}
		r.Must(r.Shares.Delete(ctx, r.By, v.ID, first.ID))
		if err := r.Shares.Delete(ctx, r.By, v.ID, first.ID); code(err) != "share_not_found" {
			t.Errorf("a second deletion = %v", err)
		}
		if _, err := r.Shares.Find(ctx, first.Secret); code(err) != "share_not_found" {
			t.Errorf("after its deletion Find = %v", err)
		}
		kept := make1(r, v.ID, share.Draft{})
		r.Must(r.DeleteVideo(ctx, r.By, v.ID))
		if _, err := r.Shares.Watch(ctx, kept, ""); code(err) != "video_not_found" {
			t.Errorf("the page of a deleted video = %v", err)
		}
		if _, err := r.Shares.Create(ctx, r.By, v.ID, share.Draft{}); code(err) != "video_not_found" {
			t.Errorf("sharing a deleted video = %v", err)
		}
	})
}

func TestWhoMayShare(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	v := r.Create(video.Draft{}).Video
	s := make1(r, v.ID, share.Draft{})
	for _, tt := range []struct {
		who                  auth.Key
		create, list, delete string
	}{
		{auth.Key{Scopes: []auth.Scope{auth.Read}}, "insufficient_scope", "", "insufficient_scope"},
		{auth.Key{Scopes: []auth.Scope{auth.Write}}, "insufficient_scope", "insufficient_scope", "share_not_found"},
		{auth.Key{Tenant: "acme"}, "video_not_found", "video_not_found", "video_not_found"},
	} {
		by := r.Actor(tt.who)
		_, create := r.Shares.Create(t.Context(), by, v.ID, share.Draft{})
		_, list := r.Shares.List(t.Context(), by, v.ID)
		remove := r.Shares.Delete(t.Context(), by, v.ID, "other")
		if code(create) != tt.create || code(list) != tt.list || code(remove) != tt.delete {
			t.Errorf("%+v: %v, %v, %v", tt.who, create, list, remove)
		}
	}
	if _, err := r.Shares.Find(t.Context(), s.Secret); err != nil {
		t.Errorf("after all that the share is gone: %v", err)
	}
}

func TestAVideoHasSoManyShares(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	v := r.Create(video.Draft{}).Video
	make1(r, v.ID, share.Draft{ExpiresAt: r.Now().Add(time.Minute)})
	for range share.MaxShares - 1 {
		make1(r, v.ID, share.Draft{})
	}
	if _, err := r.Shares.Create(t.Context(), r.By, v.ID, share.Draft{}); code(err) != "limit_reached" {
		t.Errorf("one more = %v", err)
	}
	r.Advance(time.Minute)
	make1(r, v.ID, share.Draft{}) // in the place of the expired one
	if _, err := r.Shares.Create(t.Context(), r.By, v.ID, share.Draft{}); code(err) != "limit_reached" {
		t.Errorf("one more = %v", err)
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	ctx, v := t.Context(), r.Create(video.Draft{}).Video
	s, same := make1(r, v.ID, share.Draft{Password: "hüsh"}), make1(r, v.ID, share.Draft{Password: "hüsh"})
	open := make1(r, v.ID, share.Draft{})
	cookie, err := r.Shares.Unlock(ctx, s, home, "hüsh")
	r.Must(err)
	if !r.Shares.Unlocked(ctx, s, cookie) || r.Shares.Unlocked(ctx, same, cookie) || r.Shares.Unlocked(ctx, s, "") || !r.Shares.Unlocked(ctx, open, "") {
		t.Error("a cookie opens another share than its own, or not that one")
	}
	for _, wrong := range []string{"", "hush", "hüsh ", "HÜSH"} {
		if _, err := r.Shares.Unlock(ctx, s, home, wrong); code(err) != "wrong_password" {
			t.Errorf("Unlock(%q) = %v", wrong, err)
		}
	}
	r.Advance(share.CookieLife)
	if r.Shares.Unlocked(ctx, s, cookie) {
		t.Error("a cookie lives for ever")
	}
}

// Only wrong passwords count: of a client, and of all clients of a share.
func TestGuessing(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	ctx, s := t.Context(), make1(r, r.Create(video.Draft{}).Video.ID, share.Draft{Password: "hush"})
	try := func(client, password string) string {
		_, err := r.Shares.Unlock(ctx, s, netip.MustParsePrefix(client), password)
		return code(err)
	}
	for range 12 {
		if got := try("192.0.2.1/32", "hush"); got != "" {
			t.Fatalf("the right password is answered %s", got)
		}
	}
	for i := range 12 {
		want := "wrong_password"
		if i >= 10 {
			want = "rate_limited"
		}
		if got := try("192.0.2.1/32", "x"); got != want {
			t.Errorf("wrong password %d is answered %q; want %q", i+1, got, want)
		}
	}
	if got := try("192.0.2.1/32", "hush"); got != "rate_limited" {
		t.Errorf("who guesses may go on with the right one: %q", got)
	}
	if got := try("2001:db8::/64", "hush"); got != "" {
		t.Errorf("another client is answered %q", got)
	}
	refused := 0
	for i := range 100 {
		if try(fmt.Sprintf("198.51.100.%d/32", i), "x") == "rate_limited" {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("of 110 wrong passwords for a share, %d of the last 100 are refused; want 10", refused)
	}
	r.Advance(time.Minute)
	if got := try("192.0.2.1/32", "hush"); got != "" {
		t.Errorf("a minute later the right password is answered %q", got)
	}
}

func TestAddressesLiveAnHourAtMost(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	id := r.Create(video.Draft{}).Video.ID
	s, short := make1(r, id, share.Draft{}), make1(r, id, share.Draft{ExpiresAt: r.Now().Add(30 * time.Second)})
	for _, tt := range []struct {
		share       share.Share
		least, most time.Duration
	}{{s, 50 * time.Minute, time.Hour}, {short, 29 * time.Second, 30 * time.Second}} {
		info, err := r.Shares.Watch(t.Context(), tt.share, "https://a.example")
		r.Must(err)
		_, rest, _ := strings.Cut(info.URLs.HLS, string(tt.share.ID)+".")
		var ms int64
		_, err = fmt.Sscanf(rest, "%d.", &ms)
		r.Must(err)
		if life := time.UnixMilli(ms).Sub(r.Now()); life < tt.least || life > tt.most {
			t.Errorf("an address lives %s; want %s to %s", life, tt.least, tt.most)
		}
		if info.URLs.Embed != "" || info.URLs.Watch != "" {
			t.Error("the page hands out pages that are not its own")
		}
	}
}
