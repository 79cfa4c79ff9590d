package audience_test

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

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

const chromeOnWindows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// at is somebody at an address.
func at(address string) audience.Visitor {
	return audience.Visitor{Network: netip.PrefixFrom(netip.MustParseAddr(address), 32), UserAgent: chromeOnWindows}
}

// public makes a public video of a minute.
func public(t *testing.T, r *servicetest.Rig) video.ID {
	t.Helper()
	v := r.Create(video.Draft{IsPublic: true}).Video
	setLength(t, r, v.ID, time.Minute)
	return v.ID
}

func setLength(t *testing.T, r *servicetest.Rig, id video.ID, d time.Duration) {
	t.Helper()
	_, err := r.Store.Writer().ExecContext(t.Context(), `UPDATE video SET duration_us = $1 WHERE id = $2`, d.Microseconds(), id)
	r.Must(err)
}

// viewing is one playing of a video, as our player tells of it.
type viewing struct {
	r       *servicetest.Rig
	s       *audience.Service
	id      video.ID
	who     audience.Visitor
	session string
	n       int
	total   time.Duration
}

// watch tells that some more was watched, and lets that time pass.
func (v *viewing) watch(d time.Duration, change ...func(*audience.Report)) error {
	v.total += d
	rep := audience.Report{Session: v.session, Sequence: v.n, Total: v.total, Watched: []audience.Watched{{Quality: "720p", Time: d, First: v.n == 0}}}
	for _, c := range change {
		c(&rep)
	}
	v.n++
	return v.s.Play(v.r.T.Context(), v.id, "", v.who, rep)
}

func begin(r *servicetest.Rig, id video.ID, who audience.Visitor, session string) *viewing {
	return &viewing{r: r, s: r.Audience, id: id, who: who, session: session}
}

// read writes what was counted and returns the figures of the last day.
func read(t *testing.T, r *servicetest.Rig, id video.ID) (audience.Figures, []audience.Part) {
	t.Helper()
	r.Must(r.Audience.Flush(t.Context()))
	of, err := r.Audience.Range(r.Now().Add(-24*time.Hour), r.Now().Add(time.Minute))
	r.Must(err)
	f, parts, err := r.Audience.OfVideo(t.Context(), r.By, id, of)
	r.Must(err)
	return f, parts
}

func TestWhatAPlayerTellsIsCounted(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *servicetest.Rig) {
		id := public(t, r)
		one := begin(r, id, at("192.0.2.1"), "session-one")
		r.Must(one.watch(time.Second, func(p *audience.Report) {
			p.Startup, p.Parts, p.Referrer = 800*time.Millisecond, []int{0, 1}, "example.com"
		}))
		r.Advance(20 * time.Second)
		r.Must(one.watch(20*time.Second, func(p *audience.Report) {
			p.Parts, p.Stalls, p.Stalled, p.Referrer = []int{1, 2, 99}, 2, 3*time.Second, "example.com"
		}))
		r.Must(r.Audience.Flush(t.Context())) // in the middle
		r.Advance(20 * time.Second)
		r.Must(one.watch(20*time.Second, func(p *audience.Report) {
			p.Completed = true
			p.Watched = []audience.Watched{{Quality: "720p", Time: 5 * time.Second}, {Quality: "480p", Time: 15 * time.Second, First: true}}
		}))
		two := begin(r, id, at("192.0.2.2"), "session-two")
		r.Must(two.watch(time.Second, func(p *audience.Report) { p.Failed, p.Parts = true, []int{0} }))
		brief := begin(r, id, at("192.0.2.3"), "session-three")
		r.Must(brief.watch(900 * time.Millisecond)) // less than a view

		f, parts := read(t, r, id)
		if f.Views != 2 || f.Viewers != 2 || f.Failures != 1 || f.Completion != 0.5 {
			t.Errorf("%d views, %d viewers, %d failures, completion %v; want 2, 2, 1, 0.5", f.Views, f.Viewers, f.Failures, f.Completion)
		}
		if f.Watched != 42*time.Second+900*time.Millisecond || f.Average != f.Watched/2 {
			t.Errorf("watched %v, average %v; want 42.9 s and half of it", f.Watched, f.Average)
		}
		if want := 3 / (3 + 42.9); math.Abs(f.StallRatio-want) > 1e-6 || math.Abs(f.StallsPerHour-2*3600/42.9) > 1e-6 {
			t.Errorf("stalls: ratio %v, %v an hour", f.StallRatio, f.StallsPerHour)
		}
		if s := f.StartupMedian.Seconds(); s < 0.65 || s > 0.95 {
			t.Errorf("the median start-up is %v s, want about 0.8", s)
		}
		got := fmt.Sprint(f.Qualities, f.Referrers, f.Devices, f.Browsers, f.Countries)
		if want := "[{720p 1 26.9s} {480p 1 15s}] [{direct 1 1.9s} {example.com 1 21s}]"; !strings.Contains(got, "{480p 1 15s}") || !strings.Contains(got, "{example.com 1 21s}") {
			t.Errorf("the lists are %s, want %s", got, want)
		}
		if want := "[{desktop 2 42.9s}] [{Chrome 2 42.9s}] []"; !strings.HasSuffix(got, want) {
			t.Errorf("the lists are %s, want at the end %s", got, want)
		}
		if len(parts) != 100 || parts[0].Share != 1 || parts[1].Share != 0.5 || parts[3].Share != 0 || parts[99].Share != 0.5 || parts[99].To != time.Minute {
			t.Errorf("the parts are %v", parts)
		}
		var views int64
		for _, m := range f.Timeline {
			views += m.Views
		}
		if len(f.Timeline) != 25 || views != 2 {
			t.Errorf("the timeline has %d hours with %d views: %v", len(f.Timeline), views, f.Timeline)
		}
	})
}

func TestAReportIsNotBelieved(t *testing.T) {
	t.Parallel()
	t.Run("a session watches at most twice the time since it began, and 30 s", func(t *testing.T) {
		r := servicetest.New(t)
		id := public(t, r)
		liar := begin(r, id, at("192.0.2.1"), "a-liar")
		r.Must(liar.watch(time.Hour))
		r.Advance(10 * time.Second)
		r.Must(liar.watch(time.Hour))
		if f, _ := read(t, r, id); f.Watched != 50*time.Second {
			t.Errorf("%v were counted, want 50 s", f.Watched)
		}
	})
	t.Run("a report that is replayed counts once", func(t *testing.T) {
		r := servicetest.New(t)
		id := public(t, r)
		one := begin(r, id, at("192.0.2.1"), "a-session")
		for range 100 {
			one.n, one.total = 0, 0
			r.Must(one.watch(2*time.Second, func(p *audience.Report) { p.Completed, p.Failed, p.Startup = true, true, time.Second }))
		}
		if f, _ := read(t, r, id); f.Views != 1 || f.Watched != 2*time.Second || f.Failures != 1 {
			t.Errorf("%d views, %v, %d failures; want 1, 2 s, 1", f.Views, f.Watched, f.Failures)
		}
	})
	t.Run("an address counts as at most 20 viewers, and watches as long as 20 can", func(t *testing.T) {
		r := servicetest.New(t)
		id := public(t, r)
		for i := range 1000 {
			who := at("192.0.2.1")
			who.UserAgent = fmt.Sprint("browser ", i)
			r.Must(begin(r, id, who, fmt.Sprint("session-", i)).watch(10 * time.Second))
		}
		f, _ := read(t, r, id)
		if f.Viewers != 20 || f.Views != 200 || f.Watched > 20*30*time.Second {
			t.Errorf("%d viewers, %d views, %v watched; want 20, 200, at most 10 minutes", f.Viewers, f.Views, f.Watched)
		}
		if len(f.Browsers) > 51 {
			t.Errorf("%d browsers are listed", len(f.Browsers))
		}
	})
	t.Run("who does not want to be counted is a view and nothing else", func(t *testing.T) {
		r := servicetest.New(t)
		id := public(t, r)
		who := at("192.0.2.1")
		who.Quiet = true
		quiet := begin(r, id, who, "a-session")
		r.Must(quiet.watch(20*time.Second, func(p *audience.Report) {
			p.Parts, p.Startup, p.Stalls, p.Completed, p.Referrer = []int{1}, time.Second, 1, true, "example.com"
		}))
		f, parts := read(t, r, id)
		if f.Views != 1 || f.Viewers+f.Failures != 0 || f.Watched != 0 || len(f.Devices)+len(f.Referrers)+len(f.Qualities)+len(parts) != 0 || f.StartupMedian != 0 || f.StallsPerHour != 0 {
			t.Errorf("the figures are %+v, %v", f, parts)
		}
	})
	t.Run("a list of names does not grow for ever", func(t *testing.T) {
		r := servicetest.New(t)
		id := public(t, r)
		for i := range 200 {
			r.Must(begin(r, id, at(fmt.Sprintf("192.0.2.%d", i)), "session-"+fmt.Sprint(i)).watch(2*time.Second, func(p *audience.Report) { p.Referrer = fmt.Sprintf("h%d.example", i) }))
			if i%50 == 0 {
				r.Must(r.Audience.Flush(t.Context()))
			}
		}
		f, _ := read(t, r, id)
		var views int64
		for _, l := range f.Referrers {
			views += l.Views
		}
		if len(f.Referrers) > 51 || views < 199 {
			t.Errorf("%d referrers with %d views", len(f.Referrers), views)
		}
	})
}

func TestWhoMayTell(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	ctx := t.Context()
	private, other := r.Create(video.Draft{}).Video.ID, r.Create(video.Draft{}).Video.ID
	state, _, err := r.Tokens.Create(ctx, r.By, private, time.Hour)
	r.Must(err)
	info, err := r.Catalog.Private(ctx, r.By, private, time.Hour, servicetest.Base)
	r.Must(err)
	signed := strings.Split(info.URLs.HLS, "/")[4]
	tests := []struct {
		name, token string
		id          video.ID
		want        string
	}{
		{"a private video without a token", "", private, "video_not_found"},
		{"with a forged one", "1.2.3", private, "url_invalid"},
		{"with the token of another video", state, other, "url_invalid"},
		{"with the signature of another video", signed, other, "url_invalid"},
		{"with a token for the video", state, private, ""},
		{"with the signature of hlsUrl", signed, private, ""},
		{"a video that does not exist", "", "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", "video_not_found"},
	}
	for _, tt := range tests {
		err := r.Audience.Play(ctx, tt.id, tt.token, at("192.0.2.1"), audience.Report{Session: "a-session" + tt.name, Total: time.Second, Watched: []audience.Watched{{Time: time.Second}}})
		if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && !strings.Contains(got, tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if f, _ := read(t, r, private); f.Views != 2 {
		t.Errorf("%d views, want 2", f.Views)
	}
}

func TestTenantsAndDeletion(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *servicetest.Rig) {
		ctx := t.Context()
		first, second := public(t, r), public(t, r)
		r.Must(begin(r, first, at("192.0.2.1"), "session-1").watch(10 * time.Second))
		r.Must(begin(r, second, at("192.0.2.1"), "session-2").watch(20 * time.Second))
		r.Audience.Served(first, 1000)
		r.Audience.Served(second, 500)
		r.Audience.Served("0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", 1<<40) // of nobody
		r.Must(r.Audience.Flush(ctx))
		of, err := r.Audience.Range(time.Time{}, time.Time{})
		r.Must(err)
		f, top, err := r.Audience.OfTenant(ctx, r.By, of)
		if err != nil || f.Views != 2 || f.Watched != 30*time.Second || f.Bytes != 1500 || len(top) != 2 || top[0].Video != second || top[1].Views != 1 {
			t.Errorf("the tenant has %+v, %+v, %v", f, top, err)
		}
		if n, err := r.Audience.BytesThisMonth(ctx, r.By); err != nil || n != 1500 {
			t.Errorf("%d bytes this month, %v", n, err)
		}
		stranger := r.Actor(auth.Key{Tenant: "other"})
		if f, top, err := r.Audience.OfTenant(ctx, stranger, of); err != nil || f.Views != 0 || len(top) != 0 {
			t.Errorf("another tenant reads %+v, %v, %v", f, top, err)
		}
		if _, _, err := r.Audience.OfVideo(ctx, stranger, first, of); video.KindOf(err) != video.NotFound {
			t.Errorf("another tenant reads the video: %v", err)
		}

		r.Must(begin(r, first, at("192.0.2.9"), "session-3").watch(10 * time.Second)) // not written before the deletion
		r.Must(r.DeleteVideo(ctx, r.By, first))
		r.Must(r.Audience.Flush(ctx))
		var rows, people int
		r.Must(r.Store.Reader().QueryRowContext(ctx, `SELECT count(*) FROM audience_video WHERE video_id = $1`, first).Scan(&rows))
		r.Must(r.Store.Reader().QueryRowContext(ctx, `SELECT count(*) FROM audience_viewer WHERE video_id = $1`, first).Scan(&people))
		if rows != 0 || people != 0 {
			t.Errorf("a deleted video has %d rows and %d viewers", rows, people)
		}
		f, top, err = r.Audience.OfTenant(ctx, r.By, of)
		if err != nil || f.Views != 2 || len(top) != 1 {
			t.Errorf("after the deletion the tenant has %d views, %v, %v; want 2 and one video", f.Views, top, err)
		}
		r.Advance(time.Minute)
		if err := begin(r, first, at("192.0.2.1"), "session-4").watch(10 * time.Second); video.KindOf(err) != video.NotFound {
			t.Errorf("a report of a deleted video: %v", err)
		}
	})
}

func TestProcessesAddUp(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *servicetest.Rig) {
		ctx := t.Context()
		id := public(t, r)
		other, err := audience.New(audience.Config{On: true, Days: 400}, audience.Parts{Store: r.Store, Player: r.Player, Tokens: r.Tokens, Now: r.Now, Log: slog.New(slog.DiscardHandler)})
		r.Must(err)
		services := []*audience.Service{r.Audience, other}
		// A balancer sends the reports of a session to both processes in turn.
		for i := range 30 {
			who := at(fmt.Sprintf("192.0.2.%d", i%10)) // each three times
			one := begin(r, id, who, fmt.Sprint("session-", i))
			for n := range 4 {
				one.s = services[(i+n)%2]
				r.Must(one.watch(5*time.Second, func(p *audience.Report) { p.Parts, p.Completed = []int{n}, n == 3 }))
			}
		}
		cmcd, ok := audience.ParseCMCD(`sid="a-session",d=4000,ot=v`)
		if !ok {
			t.Fatal("CMCD was not read")
		}
		for i := range 6 {
			services[i%2].Request(id, at("192.0.2.77"), cmcd, "720p-3.m4s")
		}
		var all sync.WaitGroup
		for _, s := range services {
			all.Go(func() {
				if err := s.Flush(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		f, parts := read(t, r, id)
		if f.Views != 31 || f.Viewers != 11 || f.Watched != 30*20*time.Second+24*time.Second {
			t.Errorf("%d views, %d viewers, %v watched; want 31, 11, 624 s", f.Views, f.Viewers, f.Watched)
		}
		if len(parts) != 100 || parts[3].Share != 1 || f.Completion != 1 {
			t.Errorf("parts %v, completion %v", parts[:5], f.Completion)
		}
	})
}

func TestWhatIsOldIsRemoved(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *servicetest.Rig) {
		ctx := t.Context()
		id := public(t, r)
		count := func(table string) (n int) {
			r.Must(r.Store.Reader().QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n))
			return n
		}
		r.Must(begin(r, id, at("192.0.2.1"), "session-1").watch(10 * time.Second))
		r.Must(r.Audience.Flush(ctx))
		r.Must(audience.Clean(r.Audience, ctx))
		if a, b, c := count("audience_viewer"), count("audience_salt"), count("audience_video"); a != 1 || b != 1 || c != 2 {
			t.Fatalf("on the same day there are %d viewers, %d salts, %d rows", a, b, c)
		}
		r.Advance(26 * time.Hour)
		r.Must(audience.Clean(r.Audience, ctx))
		if a, b, c := count("audience_viewer"), count("audience_salt"), count("audience_video"); a != 0 || b != 0 || c != 2 {
			t.Errorf("a day later there are %d viewers, %d salts, %d rows; want 0, 0, 2", a, b, c)
		}
		r.Advance(401 * 24 * time.Hour)
		r.Must(audience.Clean(r.Audience, ctx))
		if a, b := count("audience_video"), count("audience_tenant"); a != 0 || b != 0 {
			t.Errorf("after 400 days there are %d and %d rows", a, b)
		}
	})
}

func TestRanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 31, 12, 34, 0, 0, time.UTC)
	tests := []struct{ name, from, to, wantFrom, wantTo, fault string }{
		{"nothing is the last 30 days", "", "", "2030-01-01T00:00:00Z", "2030-02-01T00:00:00Z", ""},
		{"a week is told by hour", "2030-01-24T12:30:00Z", "2030-01-31T12:10:00Z", "2030-01-24T12:00:00Z", "2030-01-31T13:00:00Z", ""},
		{"more is told by day", "2030-01-20T12:30:00Z", "", "2030-01-20T00:00:00Z", "2030-02-01T00:00:00Z", ""},
		{"times of another zone", "2030-01-31T01:00:00+02:00", "2030-01-31T02:00:00+02:00", "2030-01-30T23:00:00Z", "2030-01-31T00:00:00Z", ""},
		{"the end before the beginning", "2030-01-31T01:00:00Z", "2030-01-30T01:00:00Z", "", "", "before to"},
		{"too long", "2000-01-31T01:00:00Z", "", "", "", "1000 days"},
	}
	parse := func(text string) (at time.Time) {
		at, _ = time.Parse(time.RFC3339, text)
		return at
	}
	for _, tt := range tests {
		got, err := audience.NewRange(parse(tt.from), parse(tt.to), now)
		if tt.fault != "" {
			if err == nil {
				t.Errorf("%s: %v, want an error", tt.name, got)
			}
			continue
		}
		if err != nil || got.From.Format(time.RFC3339) != tt.wantFrom || got.To.Format(time.RFC3339) != tt.wantTo {
			t.Errorf("%s: %v, %v; want %s to %s", tt.name, got, err, tt.wantFrom, tt.wantTo)
		}
	}
}
