package cluster

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/test/need"
)

// kinds are the kinds of tasks that the films of these tests have. The others are for films with large
// renditions, with text tracks, in HEVC, with another file and with damage where the picture is copied; what becomes of their results is decided by the same code.
var kinds = slices.DeleteFunc(pipeline.Kinds(), func(k queue.Kind) bool {
	return slices.Contains([]queue.Kind{queue.Large, queue.Captions, queue.HEVC, queue.HEVCJoin, queue.Replace, queue.Sound, queue.Remix, queue.Texts, queue.Recode}, k)
})

// shortInAV1 has tasks of spare time, too, and four chunks.
var shortInAV1 = func() sourceVideo {
	film := short
	film.Filename, film.Codecs = "av1.mp4", []string{"av1"}
	film.seconds, film.Thumbnails = 36, []float64{20}
	return film
}()

// TestTwoWorkersFinishEachTask delivers every task twice at the same moment. The
// two workers that have it hand in their results at the same moment, too.
func TestTwoWorkersFinishEachTask(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.measured = true // it is a task, too
	f.api()
	meet := &meeting{waiting: map[string]chan struct{}{}}
	for range 2 {
		f.worker().door.set(meet.attend)
	}
	f.note()
	f.exec(`
		CREATE FUNCTION test_again() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE again river_job := NEW;
		BEGIN
			again.id := nextval('river_job_id_seq');
			again.unique_key := NULL;
			again.unique_states := NULL;
			again.metadata := again.metadata || '{"again": true}';
			INSERT INTO river_job SELECT again.*;
			RETURN NULL;
		END $$;
		CREATE TRIGGER test_twice AFTER INSERT ON river_job FOR EACH ROW
			WHEN (NOT NEW.metadata ? 'again') EXECUTE FUNCTION test_again()`)
	films := f.begin(f.withTimeout(waitLimit), oneUsually(shortInAV1, feature)...)
	f.finish(films)
	for _, name := range kinds {
		kind := string(name)
		once := f.count(`SELECT count(*) FROM (SELECT task FROM test_event WHERE state = 'running' AND task LIKE $1 || '/%'
			GROUP BY task HAVING count(*) < 2) AS o`, kind)
		if all := f.count(`SELECT count(DISTINCT task) FROM test_event WHERE task LIKE $1 || '/%'`, kind); all == 0 || once > 0 {
			t.Errorf("%d of %d tasks of kind %s ran once only", once, all, kind)
		}
	}
	t.Logf("%d results were handed in by two workers at the same moment", meet.met)
	if meet.met == 0 {
		t.Error("no two workers ever handed in the same result at the same moment")
	}
}

// meeting lets the first of two equal writes wait for the second.
type meeting struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	met     int
}

func (m *meeting) attend(w http.ResponseWriter, r *http.Request, next http.Handler, changed <-chan struct{}) {
	if writes(r) {
		select {
		case <-m.arrive(r.URL.Path):
		case <-time.After(3 * time.Second): // the other one found it done
		case <-changed:
		}
	}
	next.ServeHTTP(w, r)
}

// arrive returns a channel that is closed when two have come.
func (m *meeting) arrive(path string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok := m.waiting[path]; ok {
		delete(m.waiting, path)
		close(first)
		m.met++
		return first
	}
	m.waiting[path] = make(chan struct{})
	return m.waiting[path]
}

// TestTasksThatEndedAreDeliveredAgain puts every task of finished videos back
// into the queue. That changes nothing that anybody can see.
func TestTasksThatEndedAreDeliveredAgain(t *testing.T) {
	need.TimeFor(t, "another test delivers every task twice")
	t.Parallel()
	f := newFleet(t)
	f.api()
	f.worker()
	f.worker()
	f.exec(`
		CREATE TABLE test_ended (LIKE river_job);
		CREATE FUNCTION test_keep() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO test_ended SELECT NEW.*; RETURN NULL; END $$;
		CREATE TRIGGER test_end AFTER UPDATE ON river_job FOR EACH ROW
			WHEN (NEW.state = 'completed' AND OLD.state <> 'completed') EXECUTE FUNCTION test_keep()`)
	films := f.begin(f.withTimeout(waitLimit), feature, shortInAV1)
	f.finish(films)
	before := f.state(films.all)
	for _, name := range kinds {
		kind := string(name)
		if f.count(`SELECT count(*) FROM test_ended WHERE args->>'kind' = $1`, kind) == 0 {
			t.Errorf("no task of kind %s has ended", kind)
		}
	}
	f.exec(`DROP TRIGGER test_end ON river_job;
		UPDATE test_ended SET id = nextval('river_job_id_seq'), state = 'available', unique_key = NULL, unique_states = NULL, attempt = 0, finalized_at = NULL;
		INSERT INTO river_job SELECT * FROM test_ended;
		SELECT pg_notify(current_schema() || '.river_insert', '{"queue": "encode"}')`)
	f.finish(films)
	if after := f.state(films.all); after != before {
		t.Errorf("the second delivery changed\n%s\ninto\n%s", before, after)
	}
	t.Logf("%d tasks were delivered again", f.count(`SELECT count(*) FROM test_ended`))
}

// describe tells what is visible of a video: its statuses, and what is in its
// objects.
func (o *order) describe(w watch) string {
	lines := []string{o.upload.ID + " " + w.Status}
	for name, r := range w.Resolutions {
		lines = append(lines, name+" "+r.Status)
	}
	for _, place := range []string{"public", "private", "source"} {
		files, _ := filepath.Glob(filepath.Join(o.fleet.objects, place, o.upload.ID, "*"))
		for _, path := range files {
			content, err := os.ReadFile(path)
			if err != nil {
				o.fleet.t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s/%s %d bytes %.4x", place, filepath.Base(path), len(content), sha256.Sum256(content)))
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n"
}
