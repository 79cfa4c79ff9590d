package video

import "time"

// Execution is one child process that worked on a video: what it was told to do, and
// what that cost.
type Execution struct {
	Task    string // the kind of task that it was a part of
	Number  int    // of the task: which chunk, where there are several
	Attempt int    // of the task; 1 is the first

	Program   string
	Arguments []string // without any path of the server
	StartedAt time.Time
	Wall, CPU time.Duration
	Memory    int64  // the most it used, in bytes; 0 when that is not known
	Result    string // RunOK, or in a few words how it ended
}

// RunOK is the result of a child process that ended as it should.
const RunOK = "ok"

// Cost is what all runs of a video together cost, including those of which no
// more than this is kept.
type Cost struct {
	Runs      int
	Wall, CPU time.Duration
	BeganAt   time.Time // when the first run started; zero before
	EndedAt   time.Time // when the video became ready or failed; zero before
}

// QualityScore says how much an output looks like its source, by brightness alone:
// that is what eyes are sharp for.
type QualityScore struct {
	SSIM float64 // structural similarity; 1 is the same picture
	PSNR float64 // signal to noise, in decibels
}
