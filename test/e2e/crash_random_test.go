package e2e

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// middleFrames is how many frames middleClip has.
const middleFrames = 8 * 25

// A server lives so long between two kills: from before it listens until some
// of its work is done.
const (
	shortestLife = 10 * time.Millisecond
	longestLife  = 1500 * time.Millisecond
)

const roundsVariable = "SPOOL_TEST_ROUNDS"

// TestRandomKills kills the server at random moments while three videos are
// always in work. SPOOL_TEST_ROUNDS says how often, SPOOL_TEST_SEED repeats the
// moments of an earlier run.
func TestRandomKills(t *testing.T) {
	usuallyOneBackend(t, "test/cluster kills workers there, and the failpoints the whole server")
	if os.Getenv(roundsVariable) == "" {
		need.TimeFor(t, "chance chooses what it finds; TestACrashAtAnyPointLosesNothing dies at each point that is known (make test-long SUITE=crash runs it, too)")
	}
	t.Parallel()
	rounds, seed := rig.Setting(t, roundsVariable, 3), rig.Setting(t, "SPOOL_TEST_SEED", time.Now().UnixNano())
	t.Logf("%d rounds; repeat their moments with SPOOL_TEST_SEED=%d", rounds, seed)
	chance := rand.New(rand.NewPCG(uint64(seed), 0))
	s := prepare(t, withEnv("SPOOL_MEASURE_QUALITY", "")) // it is a task, too
	customers := []*customer{
		{film: newVideo{Filename: "tiny.mp4", Resolutions: []string{"144p"}, IsPublic: true, Thumbnails: []float64{0, 1}},
			clip: clip(t, tinyClip), frames: tinyFrames},
		{film: newVideo{Filename: "middle.mp4", Resolutions: []string{"144p", "240p"}, Thumbnails: []float64{3}},
			clip: clip(t, middleClip), frames: middleFrames},
		{film: newVideo{Filename: "long.mp4", Resolutions: []string{"144p"}, IsPublic: true, Thumbnails: []float64{40, 1, 64}},
			clip: clip(t, longClip), frames: longFrames},
	}
	for range rounds {
		s.launch()
		served := serve(s, customers, false)
		time.Sleep(shortestLife + time.Duration(chance.Int64N(int64(longestLife-shortestLife))))
		s.kill()
		served.Wait()
		s.wantNoChildren(10 * time.Second)
	}
	s.launch()
	s.waitReadyz()
	serve(s, customers, true).Wait()
	wantContent(s, customers)
}

// serve lets the customers go on, all at once, until the server dies or, if it
// is the last time, each has the video that it is waiting for.
func serve(s *server, customers []*customer, last bool) *sync.WaitGroup {
	var busy sync.WaitGroup
	for _, c := range customers {
		busy.Go(func() { c.goOn(s, last) })
	}
	return &busy
}

// wantContent wants every video that was ever asked for to be there, whole, and
// nothing else.
func wantContent(s *server, customers []*customer) {
	s.t.Helper()
	var all []upload
	for _, c := range customers {
		if c.lost != nil {
			s.t.Fatalf("%s was lost: %v", c.film.Filename, c.lost)
		}
		s.t.Logf("%s was finished %d times", c.film.Filename, len(c.finished))
		for _, u := range c.finished {
			s.wantVideo(s.waitReady(u), c.frames)
		}
		all = append(all, c.finished...)
	}
	s.wantTidy(all...)
}
