package cluster

import (
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// TestPostgresGoesAway stops the database server in the middle of the work. What
// is at work goes on, and records its end when the server is back.
func TestPostgresGoesAway(t *testing.T) {
	t.Parallel()
	for name, goAway := range map[string]func(*fleet){
		"restarted":    func(f *fleet) { f.postgres.Stop() },
		"killed":       (*fleet).killPostgres,
		"killed twice": func(f *fleet) { f.killPostgres(); f.postgres.Start(f.t); time.Sleep(time.Second); f.killPostgres() },
	} {
		t.Run(name, func(t *testing.T) {
			if name != "killed" {
				need.TimeFor(t, "to be killed is the worst that can happen once")
			}
			t.Parallel()
			f := newFleetWithPostgres(t)
			f.api()
			f.worker()
			f.worker()
			films := f.begin(f.withTimeout(waitLimit), oneUsually(short, feature)...)
			until(t, "some of the work to be done", waitLimit, func() bool { return f.steps("encode") > 0 })
			goAway(f)
			time.Sleep(3 * time.Second)
			f.postgres.Start(t)
			back := time.Now()
			f.finish(films)
			t.Logf("all is done and checked %.1f s after the database was back", time.Since(back).Seconds())
		})
	}
}
