package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// chapters returns the chapters of a file that begin in the part of it which becomes the video. from is where that part
// begins, in seconds on the clock of the file. Times count from there. A chapter that has begun before begins with it.
// This is the only place where chapters of a file are moved and cut.
func chapters(found []probe.Chapter, from float64, length time.Duration) []video.Chapter {
	var all []video.Chapter
	for i, c := range found {
		seconds := max(c.Start-from, 0)
		if seconds >= length.Seconds()-0.001 {
			break
		}
		start := time.Duration(math.Round(seconds*1000)) * time.Millisecond
		title := c.Title
		if title == "" {
			title = fmt.Sprintf("Chapter %d", i+1)
		}
		if n := len(all); n > 0 && start <= all[n-1].Start {
			all = all[:n-1] // it lasted for nothing, or ended before the part begins
		}
		all = append(all, video.Chapter{Start: start, Title: title})
	}
	return all
}
