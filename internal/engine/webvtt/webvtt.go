// Package webvtt reads timed text, WebVTT and SubRip, and writes WebVTT. What it
// writes is made anew from what it understood: times, a few settings of position, and
// text with the few tags that browsers know. Nothing else of an upload is ever served.
//
// It knows files in memory and no other package.
package webvtt

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxSize is how many bytes of text are read.
const MaxSize = 2 << 20

// Limits on what is understood. They are far above any honest file.
const (
	maxCues = 50_000
	maxText = 16 << 10 // bytes of one cue
	maxTime = 1000 * time.Hour
	// maxShown and maxShownSize bound the texts within one Window, and with them the segments of HLS.
	maxShown     = 1000
	maxShownSize = 128 << 10
)

// Window is how long the stretches of time are in which not too much may be shown: the segments of HLS.
const Window = 6 * time.Second

// Cue is a text and when it is shown.
type Cue struct {
	Start, End time.Duration
	Settings   string   // of WebVTT, checked; "" for the usual place
	Lines      []string // with tags and entities of WebVTT, checked
	Line       int      // where it was read, counted from 1
}

var tag = regexp.MustCompile(`<[^>]*>`)

// Plain returns the text of a cue in one line, without tags and entities.
func (c Cue) Plain() string {
	return html.UnescapeString(tag.ReplaceAllString(strings.Join(c.Lines, " "), ""))
}

// Escape returns a plain text as a line of a cue.
func Escape(text string) string { return escapes.Replace(text) }

// size is how many bytes the cue takes in a file.
func (c Cue) size() int {
	n := len("\n00:00:00.000 --> 00:00:00.000\n") + len(c.Settings) + 1
	for _, line := range c.Lines {
		n += len(line) + 1
	}
	return n
}

// Error says why a text could not be read.
type Error struct {
	Line   int // counted from 1
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

func syntaxError(line int, format string, args ...any) *Error {
	return &Error{Line: line, Reason: fmt.Sprintf(format, args...)}
}

// Encode writes cues as WebVTT, in the order of their beginnings.
func Encode(cues []Cue) []byte { return encode("WEBVTT\n", cues) }

// EncodeSegment writes the cues that are shown between two times as a segment of an
// HLS playlist. A cue that reaches across the border of two segments is in both, with
// its own times; players know that it is one.
func EncodeSegment(cues []Cue, from, to time.Duration) []byte {
	var shown []Cue
	for _, c := range cues {
		if c.Start < to && c.End > from {
			shown = append(shown, c)
		}
	}
	// The cues have the times of the media, whose first frame is at zero.
	return encode("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n", shown)
}

func encode(header string, cues []Cue) []byte {
	cues = slices.Clone(cues)
	sortByStart(cues)
	var b bytes.Buffer
	b.WriteString(header)
	for _, c := range cues {
		b.WriteString("\n" + timestamp(c.Start) + " --> " + timestamp(c.End))
		if c.Settings != "" {
			b.WriteString(" " + c.Settings)
		}
		b.WriteString("\n" + strings.Join(c.Lines, "\n") + "\n")
	}
	return b.Bytes()
}

func sortByStart(cues []Cue) {
	slices.SortStableFunc(cues, func(a, b Cue) int { return int(a.Start/time.Millisecond - b.Start/time.Millisecond) })
}

func timestamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

// Shift returns cues moved by some time to where the video is: what comes before its
// beginning or after its end is left out.
func Shift(cues []Cue, by, length time.Duration) []Cue {
	var out []Cue
	for _, c := range cues {
		c.Start, c.End = max(0, c.Start+by), min(c.End+by, length)
		if c.Start.Truncate(time.Millisecond) < c.End.Truncate(time.Millisecond) {
			out = append(out, c)
		}
	}
	return out
}
