package video

import "time"

// Execution records one child process that worked on a video: its command line,
// and what it cost.
type Execution struct {
	Task    string // the kind of the task that started it
	Number  int    // of the task, such as the number of the chunk
	Attempt int    // of the task; 1 is the first

	Program   string
	Arguments []string // without any path of the server
	StartedAt time.Time
	Wall, CPU time.Duration
	Memory    int64  // peak resident memory in bytes; 0: unknown
	Result    string // ExecutionOK, or in a few words how it ended
}

// ExecutionOK is the result of a child process that succeeded.
const ExecutionOK = "ok"

// Cost is the sum of all executions for a video, including those that are not
// recorded one by one.
type Cost struct {
	Executions int
	Wall, CPU  time.Duration
	BeganAt    time.Time // start of the first execution; zero before
	EndedAt    time.Time // when the video became ready or failed; zero before
}

// QualityScore says how similar the luma of an output is to its source.
type QualityScore struct {
	SSIM float64 // structural similarity; 1 means identical
	PSNR float64 // peak signal-to-noise ratio in decibels
	// NoBetterThan is the next smaller resolution, if that looks as much like the source when it is
	// enlarged to the size of this one; "" otherwise.
	NoBetterThan Name
}
