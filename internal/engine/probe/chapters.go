package probe

import (
	"encoding/json"
	"math"

	"github.com/spool-video/spool/internal/video"
)

// Chapter is a chapter of a file. Its title may be empty.
type Chapter struct {
	Start float64 // seconds, on the clock of the file
	Title string  // one line
}

// readChapter reads the description of a chapter. Of more than a video may have, the first are kept. What is not later
// than the one before makes no sense.
func (f *Result) readChapter(d *json.Decoder) error {
	var c struct {
		Start float64 `json:"start_time,string"`
		Tags  struct {
			Title string `json:"title"`
		} `json:"tags"`
	}
	c.Start = math.Inf(1) // not known
	if err := d.Decode(&c); err != nil {
		return err
	}
	last := math.Inf(-1)
	if n := len(f.Chapters); n > 0 {
		last = f.Chapters[n-1].Start
	}
	if len(f.Chapters) < video.MaxChapters && c.Start > last && !math.IsInf(c.Start, 0) {
		f.Chapters = append(f.Chapters, Chapter{c.Start, legible(c.Tags.Title, video.MaxChapterTitle)})
	}
	return nil
}
