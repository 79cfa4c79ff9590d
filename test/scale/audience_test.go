package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// watchedVideos is how many videos are watched each day of watchedDays.
const (
	watchedVideos = 2_000
	watchedDays   = 400
)

// BenchmarkAudience reads the audience of a video and of a tenant that has 2,000 videos, each with a row for every one of 400
// days, which is 800,000 rows:
//
//	go test -run '^$' -bench Audience -benchtime 1x ./test/scale
func BenchmarkAudience(b *testing.B) {
	for range b.N {
		b.Run("SQLite", func(b *testing.B) { readAudience(b, searchedSQLite(b, watchedVideos)) })
		b.Run("PostgreSQL", func(b *testing.B) { readAudience(b, searchedPostgres(b, watchedVideos)) })
	}
}

func readAudience(b *testing.B, s *searched) {
	s.fill()
	end := time.Now().UTC().Truncate(24 * time.Hour)
	s.exec(watchedRows(end, "audience_video (video_id, tenant, span, at, views, followed, watched_ms, lists)", "'"+searchedID+"' || v.n, 'somebody'", watchedVideos))
	s.exec(watchedRows(end, "audience_tenant (tenant, span, at, views, followed, watched_ms, lists)", "'somebody'", 1))
	s.exec("ANALYZE")
	now := func() time.Time { return end.Add(12 * time.Hour) }
	service, err := audience.New(audience.Config{On: true, Days: watchedDays}, audience.Parts{Store: s.store, Now: now})
	s.must(err)
	by := auth.Actor{Tenant: "somebody", Scopes: []auth.Scope{auth.Read}}
	for _, days := range []int{7, 30, 400} {
		of, err := service.Range(end.AddDate(0, 0, 1-days), end.AddDate(0, 0, 1))
		s.must(err)
		var ofVideo, ofTenant []time.Duration
		for i := range 20 {
			began := time.Now()
			_, _, err := service.OfVideo(b.Context(), by, video.ID(fmt.Sprint(searchedID, 100000000000+i)), of)
			s.must(err)
			middle := time.Now()
			f, top, err := service.OfTenant(b.Context(), by, of)
			s.must(err)
			ofVideo, ofTenant = append(ofVideo, middle.Sub(began)), append(ofTenant, time.Since(middle))
			if days > 7 && (len(top) != 20 || f.Views == 0) {
				b.Fatalf("the tenant has %d views and %d videos", f.Views, len(top))
			}
		}
		b.ReportMetric(float64(median(ofVideo).Microseconds())/1000, fmt.Sprintf("ms-video-%dd", days))
		b.ReportMetric(float64(median(ofTenant).Microseconds())/1000, fmt.Sprintf("ms-tenant-%dd", days))
	}
	removeOldAudience(b, s)
}

// removeOldAudience has everything removed that is older than a day, and reports how long the longest step took.
func removeOldAudience(b *testing.B, s *searched) {
	var longest time.Duration
	for range 20 {
		began := time.Now()
		s.must(s.store.InTx(b.Context(), func(tx *store.Tx) error {
			_, err := audience.RemoveOldest(b.Context(), tx, time.Now())
			return err
		}))
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms-cleanup-step")
}

// watchedRows inserts a row for each of n things and each day before end.
func watchedRows(end time.Time, into, subject string, n int) string {
	const lists = `{"devices":{"desktop":{"v":300,"w":9000000},"mobile":{"v":120,"w":4000000}},"browsers":{"Chrome":{"v":300,"w":9000000},"Safari":{"v":120,"w":4000000}},` +
		`"referrers":{"direct":{"v":300,"w":9000000},"example.com":{"v":120,"w":4000000}},"qualities":{"720p":{"v":300,"w":9000000}},"startup":[0,0,1,4,9,20,40,20,9,4,1]}`
	return fmt.Sprintf(`
		INSERT INTO %s
		WITH RECURSIVE d (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < %d),
		v (n) AS (SELECT 100000000000 UNION ALL SELECT n + 1 FROM v WHERE n < %d)
		SELECT %s, 'day', %d - d.n * CAST(86400000 AS BIGINT), 1 + v.n %% 97, 1, 1000 + (v.n * 7919 + d.n * 104729) %% 1000003, '%s' FROM v, d`,
		into, watchedDays-1, 100000000000+n-1, subject, end.UnixMilli(), lists)
}
