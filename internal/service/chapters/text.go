package chapters

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/video"
)

// People paste chapters from descriptions of videos, with bullets, numbers, brackets and dashes around the times.
const (
	stamp  = `(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)(?:[.,](\d{1,3}))?`
	bullet = `[\s\-–—•*·>]*(?:\d{1,3}[.)]\s+)?`
	dashes = `[\s\-–—:|~=.]*`
)

var (
	// atBegin is a line such as "00:42 Title", "(1:02:03) - Title" or "0:42 - 1:30 Title".
	atBegin = regexp.MustCompile(`^` + bullet + `[\[(]?` + stamp + `[\])]?(?:\s*[\-–—]\s*[\[(]?(?:\d{1,3}:)?\d{1,3}:[0-5]\d[\])]?)?(?:` + dashes + `(\D.*|\d.*))?$`)
	// atEnd is a line such as "Title – 0:42" or "1. Title (0:42)".
	atEnd = regexp.MustCompile(`^` + bullet + `(.*?)` + dashes + `[\[(]?` + stamp + `[\])]?$`)
)

// ReadText reads lines of a time and a title. Lines without a time are left out: they may be the rest of a description.
// Times at the ends of lines count where no line begins with one.
func ReadText(text []byte) (List, error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n"), "\n")
	l := readLines(lines, func(line string) (title string, at []string) {
		if m := atBegin.FindStringSubmatch(line); m != nil {
			return m[5], m[1:5]
		}
		return "", nil
	})
	if len(l.Chapters) == 0 {
		l = readLines(lines, func(line string) (title string, at []string) {
			if m := atEnd.FindStringSubmatch(line); m != nil {
				return m[1], m[2:6]
			}
			return "", nil
		})
	}
	if len(l.Chapters) == 0 {
		return List{}, invalid("No line has a time and a title, such as: 00:42 The second act.")
	}
	return l, nil
}

// readLines reads the lines in which find finds a time.
func readLines(lines []string, find func(line string) (title string, at []string)) List {
	var l List
	for i, line := range lines {
		if title, at := find(strings.TrimSpace(line)); at != nil {
			l.Chapters = append(l.Chapters, video.Chapter{Start: timeOf(at), Title: title})
			l.lines = append(l.lines, i+1)
		}
	}
	return l
}

// timeOf returns the time of hours, minutes, seconds and the digits behind the point.
func timeOf(at []string) time.Duration {
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(at[i]) // at most three digits; hours may be absent
	}
	millis, _ := strconv.Atoi((at[3] + "000")[:3])
	return time.Duration(n[0])*time.Hour + time.Duration(n[1])*time.Minute + time.Duration(n[2])*time.Second + time.Duration(millis)*time.Millisecond
}

// ReadVTT reads WebVTT whose texts are titles. It has its times in order.
func ReadVTT(text []byte) (List, error) {
	cues, err := webvtt.Parse(text)
	if e, ok := errors.AsType[*webvtt.Error](err); ok {
		return List{}, invalid(fmt.Sprintf("Line %d: %s.", e.Line, e.Reason))
	}
	if err != nil {
		return List{}, err
	}
	var l List
	for _, c := range cues {
		l.Chapters = append(l.Chapters, video.Chapter{Start: c.Start, Title: c.Plain()})
		l.lines = append(l.lines, c.Line)
	}
	return l, nil
}
