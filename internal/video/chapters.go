package video

import "time"

// Limits on the chapters of a video.
const (
	MaxChapters     = 200
	MaxChapterTitle = 200 // characters
)

// Chapter is a part of a video with a title. It lasts until the next one begins.
type Chapter struct {
	Start time.Duration `json:"start"`
	Title string        `json:"title"`
}

// ChapterSpan is a chapter with its end, which is 0 while the length of the video is not known.
type ChapterSpan struct {
	Chapter
	End time.Duration
}

// ChapterSpans returns the chapters of a video of a length, which is 0 while it is not known. What begins at the end
// of the video or later is not shown.
func ChapterSpans(all []Chapter, length time.Duration) []ChapterSpan {
	var spans []ChapterSpan
	for i, c := range all {
		if length > 0 && c.Start >= length {
			break
		}
		end := length
		if i+1 < len(all) && (length == 0 || all[i+1].Start < length) {
			end = all[i+1].Start
		}
		spans = append(spans, ChapterSpan{c, end})
	}
	return spans
}
