package scale

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

var (
	searchReport = flag.String("report", "", "file to append the figures of searches to")
	manySearched = flag.Int("videos", 1_000_000, "how many videos the larger of two databases has whose searches are compared")
)

// fewSearched is how many videos the smaller database has, and mostSearched how much longer
// searches in the other one may take.
const (
	fewSearched  = 1_000
	mostSearched = 1.5
	searchRounds = 1_000
)

// BenchmarkSearch compares searches by metadata in a thousand and in a million videos:
//
//	go test -run '^$' -bench Search -benchtime 1x -timeout 2h ./test/scale
//
// Both take turns, so that whatever else the machine does hits both. Filling the databases takes
// minutes.
func BenchmarkSearch(b *testing.B) {
	var report strings.Builder
	for range b.N {
		report.Reset()
		b.Run("SQLite", func(b *testing.B) { compareSearches(b, "SQLite", searchedSQLite, &report) })
		b.Run("PostgreSQL", func(b *testing.B) { compareSearches(b, "PostgreSQL", searchedPostgres, &report) })
	}
	if *searchReport != "" && !b.Failed() {
		appendSearches(b, report.String())
	}
}

// searched is a database with n videos of somebody;
// exec runs a statement without a limit of time.
type searched struct {
	*bench
	store *store.Store
	n     int
	exec  func(statement string)
	took  time.Duration // to insert all
}

func searchedSQLite(b *testing.B, n int) *searched {
	st := openSQLite(b)
	return &searched{bench: newBench(b, st, local.New(st.Writer(), local.Options{Read: st.Reader()})), store: st, n: n, exec: func(statement string) {
		if _, err := st.Writer().ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}}
}

func searchedPostgres(b *testing.B, n int) *searched {
	address := pgtest.Fresh(b)
	st := openPostgres(b, address)
	q, err := river.Open(b.Context(), st, river.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return &searched{bench: newBench(b, st, q), store: st, n: n, exec: func(statement string) { pgtest.Exec(b, address, statement) }}
}

// fill inserts the videos. Whatever n is, a hundred have failed, and a hundred others have a rare label.
func (s *searched) fill() {
	s.Helper()
	const batch = 5_000
	every := s.n / failed
	began := time.Now()
	for first := 0; first < s.n; first += batch {
		s.must(s.store.InTx(s.Context(), func(tx *store.Tx) error {
			for i := first; i < min(first+batch, s.n); i++ {
				if err := catalog.Insert(s.Context(), tx, searchedVideo(i, every)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	s.took = time.Since(began)
}

func searchedVideo(i, every int) video.Video {
	v := video.Video{
		ID: video.ID(fmt.Sprint(searchedID, 100000000000+i)), Tenant: "somebody", Filename: "film.mp4", Title: fmt.Sprint("Film ", i), ContentType: "video/mp4",
		IsPublic: true, Duration: time.Duration(i%7200) * time.Second, SizeBytes: int64(i), Thumbnails: []float64{1, 2}, Status: video.Ready, CreatedAt: made(i), UploadExpiresAt: made(i),
		Metadata: fmt.Appendf(nil, `{"all":"yes","third":%d,"order":"o-%d","rare":%t,"title":"A film"}`, i%3, i, i%every == 1),
		Tags:     []string{"all", fmt.Sprint("third ", i%3)},
	}
	if i%every == 1 {
		v.Tags = append(v.Tags, "rare")
	}
	if i%every == 0 {
		v.Status = video.Fail
	}
	v.Resolutions = []video.Resolution{{ID: video.ResolutionID("r-" + v.ID), VideoID: v.ID, Name: "720p", Status: v.Status}}
	return v
}

// searchedID is what the ids of all videos begin with.
const searchedID = "0198c5b6-7d5e-7c3a-9b1e-"

func label(key, value string) video.Label { return video.Label{Key: key, Value: value} }

// searches are what is compared. Each finds as many videos in the one database as in the other.
var searches = []struct {
	name string
	want int
	ask  func(n int) (video.Filter, video.Cursor)
}{
	{"one video", 1, func(n int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("order", fmt.Sprint("o-", rand.IntN(n)))}}, video.Cursor{}
	}},
	{"nothing", 0, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("order", "none")}}, video.Cursor{}
	}},
	{"20 of 100", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("rare", "true")}}, video.Cursor{}
	}},
	{"20 of all, somewhere", 20, func(n int) (video.Filter, video.Cursor) {
		i := 20 + rand.IntN(n-20)
		return video.Filter{Labels: []video.Label{label("all", "yes")}}, video.Cursor{CreatedAt: made(i), ID: video.ID(fmt.Sprint(searchedID, 100000000000+i))}
	}},
	{"all, and one of them", 1, func(n int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("all", "yes"), label("order", fmt.Sprint("o-", rand.IntN(n)))}}, video.Cursor{}
	}},
	{"all, and 20 of 100 of them", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("all", "yes"), label("rare", "true")}}, video.Cursor{}
	}},
	{"all, and 20 of a third of them", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("all", "yes"), label("third", "0")}}, video.Cursor{}
	}},
	{"20 of a third of them, by tag", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Tags: []string{"third 0"}}, video.Cursor{}
	}},
	{"20 of 100 of all of them, by tags", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Tags: []string{"all", "rare"}}, video.Cursor{}
	}},
	{"20 by title that have a tag", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Tags: []string{"third 0"}, Order: video.Order{By: video.ByTitle}}, video.Cursor{}
	}},
	{"the 20 largest", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Order: video.Order{By: video.BySize}}, video.Cursor{}
	}},
	{"20 by size, somewhere", 20, func(n int) (video.Filter, video.Cursor) {
		i := 20 + rand.IntN(n-20)
		o := video.Order{By: video.BySize}
		return video.Filter{Order: o}, video.Cursor{Order: o, Key: fmt.Sprint(i), ID: video.ID(fmt.Sprint(searchedID, 100000000000+i))}
	}},
	{"nothing of 1,000 by title", 0, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Words: []string{"nothing"}, Order: video.Order{By: video.ByTitle, Ascending: true}}, video.Cursor{}
	}},
	{"20 by title that have a label", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Labels: []video.Label{label("third", "0")}, Order: video.Order{By: video.ByTitle}}, video.Cursor{}
	}},
	{"all, and 20 of 100 that failed", 20, func(int) (video.Filter, video.Cursor) {
		return video.Filter{Status: video.Fail, Labels: []video.Label{label("all", "yes")}}, video.Cursor{}
	}},
}

// compareSearches makes all searches in a small and in a large database.
func compareSearches(b *testing.B, name string, open func(*testing.B, int) *searched, report *strings.Builder) {
	both := []*searched{open(b, fewSearched), open(b, *manySearched)}
	for _, s := range both {
		s.fill()
		if name == "PostgreSQL" {
			s.exec(`VACUUM ANALYZE`) // as the server itself does before long
		} else {
			s.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
		}
	}
	b.Logf("%s: %d videos were inserted in %v", name, *manySearched, both[1].took.Round(time.Second))
	took := make([][2][]time.Duration, len(searches))
	for round := range searchRounds + searchRounds/10 {
		for i := range searches {
			for _, k := range rand.Perm(2) {
				if d := both[k].search(i); round >= searchRounds/10 { // connections were made, statements prepared
					took[i][k] = append(took[i][k], d)
				}
			}
		}
	}
	var all [2][]time.Duration
	for i, s := range searches {
		writeSearch(b, report, name+": "+s.name, took[i])
		for k := range all {
			all[k] = append(all[k], took[i][k]...)
		}
	}
	if ratio := writeSearch(b, report, "**"+name+": all of them**", all); ratio > mostSearched {
		b.Errorf("the 99th percentile with %d videos is %.2f times that with %d, want at most %.1f", *manySearched, ratio, fewSearched, mostSearched)
	}
	fmt.Fprintf(report, "| %s: inserting all | | | | | | %s |\n", name, both[1].took.Round(time.Second))
}

// search makes one search and returns how long it took.
func (s *searched) search(i int) time.Duration {
	s.Helper()
	f, after := searches[i].ask(s.n)
	began := time.Now()
	page, err := s.Catalog.List(context.WithoutCancel(s.Context()), s.by, f, after, video.DefaultPage)
	took := time.Since(began)
	s.must(err)
	if len(page.Videos) != searches[i].want {
		s.Fatalf("a search for %s finds %d videos", searches[i].name, len(page.Videos))
	}
	return took
}

// writeSearch adds a line with medians and 99th percentiles, and returns the ratio of the latter.
func writeSearch(b *testing.B, report *strings.Builder, name string, took [2][]time.Duration) float64 {
	var p [2][2]float64 // of each database: median, 99th percentile; in milliseconds
	for k, all := range took {
		all = slices.Sorted(slices.Values(all))
		for i, at := range []int{len(all) / 2, len(all) * 99 / 100} {
			p[k][i] = float64(all[at].Microseconds()) / 1000
		}
	}
	line := fmt.Sprintf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", name, p[0][0], p[1][0], p[1][0]/p[0][0], p[0][1], p[1][1], p[1][1]/p[0][1])
	b.Log(strings.TrimSpace(line))
	report.WriteString(line)
	return p[1][1] / p[0][1]
}

// loadAverage says how busy the machine is: that decides more about the 99th percentile than the
// database does.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown size"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

func appendSearches(b *testing.B, lines string) {
	f, err := os.OpenFile(*searchReport, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "\n## Searching by metadata\n\n"+
		"A page of 20 videos, with 1,000 and with 1,000,000 videos that have five labels each, in milliseconds. "+
		"%d rounds, in which the two databases took turns, on a machine with a load of %s. *all* is a label that every video has.\n\n"+
		"| search | 1,000: median | 1,000,000: median | ratio | 1,000: p99 | 1,000,000: p99 | ratio |\n|---|---|---|---|---|---|---|\n%s", searchRounds, loadAverage(), lines)
	if err != nil {
		b.Fatal(err)
	}
}
