package e2e

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// TestADeletionWinsOverWork deletes videos at random moments of their
// processing, some of them in two steps: one resolution, and then the rest.
func TestADeletionWinsOverWork(t *testing.T) {
	usuallyOneBackend(t, "TestDeletingStopsTheWork and the failpoints objects-removed and resolution-gone delete there")
	t.Parallel()
	const batch, longestWait = 4, 700 * time.Millisecond
	batches := 1
	if need.Long() {
		batches = 8
	}
	seed := rig.Setting(t, "SPOOL_TEST_SEED", time.Now().UnixNano())
	t.Logf("repeat the moments with SPOOL_TEST_SEED=%d", seed)
	chance := rand.New(rand.NewPCG(uint64(seed), 1))
	s := start(t, withEnv("SPOOL_MEASURE_QUALITY", "")) // it is a task, too
	var dead []string
	reached := map[string]int{} // how far the videos had come
	for range batches {
		var videos []upload
		for range batch {
			videos = append(videos, s.submit(tinyVideo, clip(t, smallClip)))
		}
		for _, u := range videos {
			time.Sleep(time.Duration(chance.Int64N(int64(longestWait))))
			if chance.IntN(2) == 0 {
				r := s.read(u).Resolutions["144p"]
				s.deleteResolution(r.ID)
				dead = append(dead, s.wantDead(r)...)
			}
			w := s.read(u)
			reached[w.Status]++
			s.deleteVideo(u.ID)
			s.tryRead(u).problem(t, http.StatusNotFound, "video_not_found")
			for _, r := range w.Resolutions {
				dead = append(dead, s.wantDead(r)...)
			}
		}
	}
	t.Logf("the videos were deleted while they were %v", reached)
	s.wantTidy()
	for _, address := range dead {
		s.get(address).problem(t, http.StatusNotFound, "not_found")
	}
}

// wantDead wants nothing to be found at the addresses of a resolution that was
// just deleted, and returns them.
func (s *server) wantDead(r resolution) []string {
	s.t.Helper()
	addresses := append(r.ThumbnailImageURLs, r.VideoURL)
	for _, address := range addresses {
		s.get(address).problem(s.t, http.StatusNotFound, "not_found")
	}
	return addresses
}
