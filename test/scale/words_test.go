package scale

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

var captionsSaid = flag.Int("captions", 20_000, "how many files with 300 captions each a search in what is said goes through")

// rareWords are in about one block of a hundred.
const rareWords = 40

// BenchmarkSaid measures searches in what is said:
//
//	go test -run '^$' -bench Said -benchtime 1x -timeout 2h ./test/scale
func BenchmarkSaid(b *testing.B) {
	for range b.N {
		b.Run("SQLite", func(b *testing.B) { searchSaid(b, searchedSQLite(b, 0)) })
		b.Run("PostgreSQL", func(b *testing.B) { searchSaid(b, searchedPostgres(b, 0)) })
	}
}

// talk is captions of 25 minutes, 300 of them. One cue in 1,600 has each rare word.
func talk(random *rand.Rand) []byte {
	cues := make([]webvtt.Cue, 300)
	for i := range cues {
		text := ""
		for range 8 {
			text += fmt.Sprintf("word%d ", int(random.ExpFloat64()*800))
		}
		if random.IntN(1600/rareWords) == 0 {
			text += fmt.Sprintf("rare%d", random.IntN(rareWords))
		}
		cues[i] = webvtt.Cue{Start: time.Duration(i) * 5 * time.Second, End: time.Duration(i+1) * 5 * time.Second, Lines: []string{text}}
	}
	return webvtt.Encode(cues)
}

// searchSaid fills a database with captions and searches in them.
func searchSaid(b *testing.B, s *searched) {
	random := rand.New(rand.NewPCG(1, 2))
	created := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	began := time.Now()
	for n := 0; n < *captionsSaid; n += 100 {
		err := s.store.InTx(b.Context(), func(tx *store.Tx) error {
			for i := range min(100, *captionsSaid-n) {
				v := storetest.NewVideo("240p")
				v.Tenant, v.CreatedAt = s.by.Tenant, created.Add(time.Duration(n+i)*time.Minute)
				if err := catalog.Insert(b.Context(), tx, v); err != nil {
					return err
				}
				if err := words.Add(b.Context(), tx, v, video.File{Name: "captions-en-1.vtt", Language: "en"}, talk(random)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds())/float64(*captionsSaid), "ms/indexed")
	s.exec(`ANALYZE`)
	for _, q := range []struct {
		name string
		text func() string
	}{
		{"rare", func() string { return fmt.Sprintf("rare%d", random.IntN(rareWords)) }},
		{"tworare", func() string { return fmt.Sprintf("rare%d rare%d", random.IntN(rareWords), random.IntN(rareWords)) }},
		{"rareandusual", func() string { return fmt.Sprintf("rare%d word%d", random.IntN(rareWords), random.IntN(300)) }},
		{"usual", func() string { return fmt.Sprintf("word%d", random.IntN(100)) }},
		{"nothing", func() string { return fmt.Sprintf("never%d", random.IntN(100)) }},
	} {
		var took []time.Duration
		found := 0
		for range 300 {
			began := time.Now()
			page, err := s.Catalog.List(b.Context(), s.by, video.Filter{Said: q.text(), Order: video.Order{By: video.BySaid}}, video.Cursor{}, 20)
			if err != nil {
				b.Fatal(err)
			}
			took, found = append(took, time.Since(began)), found+len(page.Videos)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, q.name+"-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, q.name+"-p99-ms")
		b.Logf("%s: %d videos found a page", q.name, found/300)
	}
}
