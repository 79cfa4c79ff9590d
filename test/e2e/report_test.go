package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Runs are told from others by what they make: a chunk, or numbers that compare
// a video with its source.
const (
	chunkRun   = "/v0.mp4"
	measureRun = "ssim="
)

// report is the answer to a report request.
type report struct {
	ID      string   `json:"id"`
	Status  string   `json:"status"`
	Failure *failure `json:"failure"`
	Found   *struct {
		Container       string  `json:"container"`
		SizeBytes       int64   `json:"sizeBytes"`
		DurationSeconds float64 `json:"durationSeconds"`
		Frames          int     `json:"frames"`
		Video           struct {
			Codec     string  `json:"codec"`
			Width     int     `json:"width"`
			Height    int     `json:"height"`
			FrameRate float64 `json:"frameRate"`
		} `json:"video"`
		Audio *struct {
			Codec string `json:"codec"`
		} `json:"audio"`
	} `json:"found"`
	Copy *struct {
		Copied  bool     `json:"copied"`
		Reasons []string `json:"reasons"`
	} `json:"copy"`
	Decisions []struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	} `json:"decisions"`
	Warnings []any      `json:"warnings"`
	Runs     []childRun `json:"runs"`
	Totals   struct {
		Runs         int      `json:"runs"`
		WallSeconds  float64  `json:"wallSeconds"`
		CPUSeconds   float64  `json:"cpuSeconds"`
		QueueSeconds *float64 `json:"queueSeconds"`
		TotalSeconds *float64 `json:"totalSeconds"`
	} `json:"totals"`
	Outputs map[string]struct {
		Width     int      `json:"width"`
		Height    int      `json:"height"`
		SizeBytes int64    `json:"sizeBytes"`
		Bitrate   int64    `json:"bitrate"`
		CRF       float64  `json:"crf"`
		SSIM      *float64 `json:"ssim"`
		PSNR      *float64 `json:"psnr"`
	} `json:"outputs"`
}

// childRun is a child process in a report.
type childRun struct {
	Task           string    `json:"task"`
	Attempt        int       `json:"attempt"`
	Program        string    `json:"program"`
	Arguments      []string  `json:"arguments"`
	StartedAt      time.Time `json:"startedAt"`
	WallSeconds    float64   `json:"wallSeconds"`
	CPUSeconds     float64   `json:"cpuSeconds"`
	MaxMemoryBytes int64     `json:"maxMemoryBytes"`
	Result         string    `json:"result"`
}

// report reads the report on a video. It must not show anything of the server.
func (s *server) report(id string) report {
	s.t.Helper()
	r := s.call("GET", "/api/video/"+id+"/report", nil)
	for _, secret := range []string{s.dataDir, "scratch", "objects/", "/tmp", s.key} {
		if strings.Contains(string(r.body), secret) {
			s.t.Errorf("the report shows %q: %s", secret, r.body)
		}
	}
	return decode[report](s.t, r, http.StatusOK)
}

// tasks lists the kinds of the tasks that the runs were part of, and how often.
func (r report) tasks() map[string]int {
	n := map[string]int{}
	for _, run := range r.Runs {
		n[run.Task]++
	}
	return n
}

// waitMeasured waits until every output was compared with the source.
func (s *server) waitMeasured(id string) report {
	s.t.Helper()
	var r report
	s.until("video "+id+" to be measured", readyTimeout, func() bool {
		r = s.report(id)
		for _, o := range r.Outputs {
			if o.SSIM == nil || o.PSNR == nil {
				return false
			}
		}
		return len(r.Outputs) > 0
	})
	return r
}

func TestReportOfAReadyVideo(t *testing.T) {
	usuallyOneBackend(t, "the report is made of rows, which storetest reads on both")
	t.Parallel()
	s := start(t, measured())
	for _, public := range []bool{true, false} {
		v := tinyVideo
		v.IsPublic = public
		u := s.submit(v, clip(t, tinyClip))
		s.waitReady(u)
		atOnce := s.report(u.ID).tasks() // all runs are there when the video is
		if atOnce["inspect"] != 1 || atOnce["encode"] != 1 || atOnce["audio"] != 1 || atOnce["thumbnails"] == 0 || atOnce["poster"] != 1 {
			t.Errorf("the runs of a video that has just become ready are %v", atOnce)
		}
		r := s.waitMeasured(u.ID)
		checkFound(t, r)
		checkRuns(t, r)
		for name, o := range r.Outputs {
			if *o.SSIM <= 0.8 || *o.SSIM > 1 || *o.PSNR < 20 || *o.PSNR > 100 || o.SizeBytes == 0 || o.Bitrate == 0 || o.Width == 0 || o.Height == 0 {
				t.Errorf("%s is %+v with SSIM %v, PSNR %v", name, o, *o.SSIM, *o.PSNR)
			}
		}
		if len(r.Outputs) != 2 {
			t.Errorf("outputs are %v; want 144p and 240p", r.Outputs)
		}
		s.wantTidy(u)
		s.deleteVideo(u.ID)
		s.call("GET", "/api/video/"+u.ID+"/report", nil).problem(t, http.StatusNotFound, "video_not_found")
	}
}

func checkFound(t testing.TB, r report) {
	t.Helper()
	f := r.Found
	if f == nil || !strings.Contains(f.Container, "mp4") || f.SizeBytes == 0 || f.DurationSeconds != 2 || f.Frames != tinyFrames {
		t.Fatalf("found %+v", f)
	}
	if v := f.Video; v.Codec != "h264" || v.Width != 640 || v.Height != 360 || v.FrameRate != 25 || f.Audio == nil || f.Audio.Codec != "aac" {
		t.Errorf("found %+v with audio %+v", v, f.Audio)
	}
	if len(r.Decisions) < 5 || !strings.HasSuffix(r.Decisions[0].Decision, ".") || !strings.HasSuffix(r.Decisions[0].Reason, ".") {
		t.Errorf("decisions are %+v; want sentences", r.Decisions)
	}
	if r.Warnings == nil || r.Failure != nil {
		t.Errorf("warnings are %v, the failure %v; want a list and none", r.Warnings, r.Failure)
	}
}

func checkRuns(t testing.TB, r report) {
	t.Helper()
	cpu, wall := 0.0, 0.0
	for _, run := range r.Runs {
		cpu, wall = cpu+run.CPUSeconds, wall+run.WallSeconds
		if run.Result != "ok" || run.Attempt != 1 || run.CPUSeconds <= 0 || run.WallSeconds <= 0 || time.Since(run.StartedAt) > readyTimeout {
			t.Errorf("a run is %+v", run)
		}
		if run.Task == "encode" && (run.Program != "ffmpeg" || !slices.Contains(run.Arguments, "libx264") || !slices.Contains(run.Arguments, "file:source")) {
			t.Errorf("an encode is %s %v", run.Program, run.Arguments)
		}
	}
	n, total := r.tasks(), r.Totals
	if n["inspect"] != 1 || n["encode"] != 1 || n["measure"] == 0 || total.Runs != len(r.Runs) {
		t.Errorf("runs are %v, %d in all", n, total.Runs)
	}
	const rounding = 0.01
	if d := total.CPUSeconds - cpu; d > rounding || d < -rounding || total.WallSeconds-wall > rounding {
		t.Errorf("totals are %+v; the runs add up to %v of CPU and %v", total, cpu, wall)
	}
	if total.QueueSeconds == nil || total.TotalSeconds == nil || *total.TotalSeconds <= *total.QueueSeconds {
		t.Errorf("totals are %+v; want a time in the queue and a longer one in all", total)
	}
}

func TestReportOfAPendingVideo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(tinyVideo)
	r := s.report(u.ID)
	if r.ID != u.ID || r.Status != "pending_upload" || r.Found != nil || r.Decisions != nil || r.Runs == nil || len(r.Runs) != 0 || r.Totals.QueueSeconds != nil {
		t.Errorf("report is %+v", r)
	}
	other := s.stranger("--scopes=read")
	s.callAs(other, "GET", "/api/video/"+u.ID+"/report", nil).problem(t, http.StatusNotFound, "video_not_found")
	s.call("GET", "/api/video/nonsense/report", nil).problem(t, http.StatusBadRequest, "invalid_request")
}

func TestReportOfAFailedVideo(t *testing.T) {
	usuallyOneBackend(t, "the report is made of rows, which storetest reads on both")
	t.Parallel()
	g := newGate(t, chunkRun, exitOne)
	s := start(t, g.tools(), measured())
	u := s.submit(tinyVideo, clip(t, smallClip))
	s.wantFailure(u, "internal", "failed several times")
	r := s.report(u.ID)
	if r.Status != "fail" || r.Failure == nil || r.Found == nil || len(r.Decisions) == 0 || len(r.Outputs) != 0 || r.Totals.TotalSeconds == nil {
		t.Errorf("report is %+v", r)
	}
	attempt := 0
	for _, run := range r.Runs {
		if run.Task != "encode" {
			continue
		}
		if attempt++; run.Attempt != attempt || run.Result != "exit status 1" {
			t.Errorf("encode %d is told as %+v", attempt, run)
		}
	}
	if attempt != tries {
		t.Errorf("%d encodes are told; want %d", attempt, tries)
	}
	s.waitIdle()
	if n := s.report(u.ID).tasks()["measure"]; n != 0 {
		t.Errorf("a failed video was measured %d times", n)
	}
}

func TestMeasuringSurvivesAKill(t *testing.T) {
	usuallyOneBackend(t, "the queue treats all kinds alike, and test/cluster kills workers there")
	t.Parallel()
	g := newGate(t, measureRun, hold)
	s := start(t, g.tools(), measured(), withEnv("SPOOL_KEEP_SOURCE", "false"))
	u := s.submit(tinyVideo, clip(t, smallClip))
	s.waitReady(u)
	s.until("measuring to begin", readyTimeout, func() bool { return g.runs() == 1 })
	s.kill()
	s.wantNoChildren(10 * time.Second)
	g.open()
	s.restart()
	r := s.waitMeasured(u.ID)
	if r.Status != "ready" {
		t.Errorf("the video is %s; want ready", r.Status)
	}
	s.until("the source to be removed", tidyTimeout, func() bool {
		return s.idle() && !slices.ContainsFunc(s.files(), func(f string) bool { return strings.HasPrefix(f, "objects/source/") })
	})
	s.wantVideo(s.read(u), smallFrames)
}

func TestADeletionStopsMeasuring(t *testing.T) {
	t.Parallel()
	oneBackend(t, "TestDeletingStopsTheWork covers a deletion in the middle of a task")
	g := newGate(t, measureRun, hold)
	s := start(t, g.tools(), measured())
	whole, half := s.submit(tinyVideo, clip(t, smallClip)), s.submit(tinyVideo, clip(t, smallClip))
	s.waitReady(whole)
	s.waitReady(half)
	s.until("measuring to begin", readyTimeout, func() bool { return g.runs() == 2 })
	s.deleteVideo(whole.ID)
	s.deleteResolution(s.read(half).Resolutions["144p"].ID)
	g.release()
	r := s.waitMeasured(half.ID)
	if _, there := r.Outputs["144p"]; there || len(r.Outputs) != 1 {
		t.Errorf("outputs are %v; want 240p alone", r.Outputs)
	}
	s.wantTidy(half)
}

func TestNothingIsMeasuredWhenNobodyWantsIt(t *testing.T) {
	oneBackend(t, "the setting decides, not the back end")
	t.Parallel()
	s := start(t, withEnv("SPOOL_MEASURE_QUALITY", "false"))
	u := s.submit(tinyVideo, clip(t, smallClip))
	s.waitReady(u)
	s.waitIdle()
	r := s.report(u.ID)
	if n := r.tasks()["measure"]; n != 0 || len(r.Outputs) != 2 || r.Outputs["144p"].SSIM != nil {
		t.Errorf("%d runs of measuring, outputs %+v; want none", n, r.Outputs)
	}
}
