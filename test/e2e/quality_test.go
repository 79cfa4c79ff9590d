package e2e

import (
	"slices"
	"strconv"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// The easy clip is made in chunks that begin at second 0, 10 and 20. lastQualityRun is the last one.
const lastQualityRun = "trim=start_pts=200000"

// The picture of a film decides its CRF: an easy one gets a higher one than usual, soft noise a lower one. All
// chunks of a film have the same, and a server that is killed meanwhile goes on with it.
func TestThePictureDecidesTheCRF(t *testing.T) {
	oneBackend(t, "the CRF is part of the plan, which is stored like any other")
	need.TimeFor(t, "800 frames and 700 noisy ones; TestChooseQuality of package encode stands for them, and other tests kill a server that has a plan")
	t.Parallel()
	g := newGate(t, lastQualityRun, hold)
	s := start(t, g.tools())
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"360p"}}
	easy := s.submit(ask, clip(t, easyClip))
	s.until("the last chunk to begin", readyTimeout, func() bool { return g.runs() > 0 })
	g.open()
	s.restart()
	s.waitReady(easy)
	const usual = 25 // of H.264 at 360p, fast
	if crf := s.checkCRF(easy); crf <= usual {
		t.Errorf("the easy film has CRF %v; want more than %d", crf, usual)
	}
	hard := s.submit(ask, clip(t, hardClip))
	s.waitReady(hard)
	if crf := s.checkCRF(hard); crf >= usual {
		t.Errorf("the hard film has CRF %v; want less than %d", crf, usual)
	}
}

// checkCRF returns the CRF of a film, which all of its chunks must have.
func (s *server) checkCRF(u upload) float64 {
	s.t.Helper()
	r := s.report(u.ID)
	crf := r.Outputs["360p"].CRF
	var used []string
	for _, run := range r.Runs {
		if i := slices.Index(run.Arguments, "-crf"); i > 0 && run.Task == "encode" {
			used = append(used, run.Arguments[i+1])
		}
	}
	want := strconv.FormatFloat(crf, 'f', -1, 64)
	if len(used) < 3 || slices.ContainsFunc(used, func(crf string) bool { return crf != want }) {
		s.t.Errorf("chunks were encoded with CRF %v, want three or more with %s", used, want)
	}
	return crf
}
