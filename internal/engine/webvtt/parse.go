package webvtt

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Parse reads WebVTT or SubRip; the text itself tells which. An error is an *Error.
func Parse(text []byte) ([]Cue, error) { return (&parser{}).parse(text) }

// ParseForgiving is Parse for a text that a program made, from a track of a video or from
// what Parse returned: cues that make no sense are left out.
func ParseForgiving(text []byte) ([]Cue, error) { return (&parser{forgiving: true}).parse(text) }

type parser struct {
	forgiving bool
	subrip    bool
	lines     []string
	at        int // the line that is read next
	cues      []Cue
	size      int  // bytes that the text of the last cue was read from
	dropped   bool // the last cue that was read is left out, with all that follows of its text
}

func (p *parser) parse(text []byte) ([]Cue, error) {
	if len(text) > MaxSize {
		return nil, syntaxError(1, "the text has %d bytes, more than %d", len(text), MaxSize)
	}
	if bytes.HasPrefix(text, []byte{0xfe, 0xff}) || bytes.HasPrefix(text, []byte{0xff, 0xfe}) {
		return nil, syntaxError(1, "the text is UTF-16, but has to be UTF-8")
	}
	s := strings.TrimPrefix(string(text), "\ufeff")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	p.lines = strings.Split(s, "\n")
	for i, line := range p.lines {
		if !utf8.ValidString(line) {
			if !p.forgiving {
				return nil, syntaxError(i+1, "the text is not UTF-8")
			}
			line = strings.ToValidUTF8(line, "\ufffd")
		}
		p.lines[i] = withoutControls(line)
	}
	if err := p.header(); err != nil {
		return nil, err
	}
	for {
		for p.at < len(p.lines) && blank(p.lines[p.at]) {
			p.at++
		}
		if p.at == len(p.lines) {
			err := p.thinOut()
			return p.cues, err
		}
		if err := p.parseBlock(); err != nil {
			return nil, err
		}
	}
}

// header reads up to the first block.
func (p *parser) header() error {
	first := p.lines[0]
	if first == "WEBVTT" || strings.HasPrefix(first, "WEBVTT ") || strings.HasPrefix(first, "WEBVTT\t") {
		for p.at < len(p.lines) && !blank(p.lines[p.at]) {
			if p.at > 0 && strings.Contains(p.lines[p.at], "-->") {
				return nil // the empty line behind the header is missing
			}
			p.at++
		}
		return nil
	}
	p.subrip = true
	if len(p.lines) == 1 && blank(first) {
		return syntaxError(1, "the text is empty")
	}
	return nil
}

// parseBlock reads lines up to an empty one.
func (p *parser) parseBlock() error {
	from, to := p.at, p.at
	timing := -1
	for ; to < len(p.lines) && !blank(p.lines[to]); to++ {
		if timing < 0 && to-from < 2 && strings.Contains(p.lines[to], "-->") {
			timing = to
		}
	}
	p.at = to
	switch first := p.lines[from]; {
	case timing >= 0:
		return p.parseCue(timing, to)
	case !p.subrip && isComment(first):
		return nil
	case p.subrip && len(p.cues) > 0: // an empty line within a text
		return p.continueText(from, to)
	case p.forgiving:
		return nil
	case !p.subrip:
		return syntaxError(from+1, "this block has no time such as 00:00:01.000 --> 00:00:04.000")
	}
	return syntaxError(from+1, "this is neither WebVTT, which begins with WEBVTT, nor SubRip, which begins with a number and a time such as 00:00:01,000 --> 00:00:04,000")
}

func isComment(line string) bool {
	for _, word := range []string{"NOTE", "STYLE", "REGION"} {
		if line == word || strings.HasPrefix(line, word+" ") || strings.HasPrefix(line, word+"\t") {
			return true
		}
	}
	return false
}

// continueText adds the lines up to one of them to the last cue.
func (p *parser) continueText(from, to int) error {
	if p.dropped {
		return nil
	}
	lines, size, err := p.parseText(from, to, p.size)
	if err != nil {
		p.cues = p.cues[:len(p.cues)-1]
		return p.leaveOut(err)
	}
	last := &p.cues[len(p.cues)-1]
	last.Lines, p.size = append(last.Lines, lines...), size
	return nil
}

var timing = regexp.MustCompile(`^\s*((?:\d{1,5}:)?\d{1,2}:\d{1,2}(?:[.,]\d{1,6})?)\s*-->\s*((?:\d{1,5}:)?\d{1,2}:\d{1,2}(?:[.,]\d{1,6})?)(?:\s+(.*))?$`)

// parseCue reads a cue: its time, and the text up to a line.
func (p *parser) parseCue(at, to int) error {
	m := timing.FindStringSubmatch(p.lines[at])
	if m == nil {
		return p.malformed(at, "the time is not of the form 00:00:01.000 --> 00:00:04.000")
	}
	start, ok := parseTime(m[1])
	end, also := parseTime(m[2])
	switch {
	case !ok || !also:
		return p.malformed(at, "the time does not exist")
	case end <= start:
		return p.malformed(at, "the text ends at %s, which is not after its beginning at %s", m[2], m[1])
	case len(p.cues) == maxCues:
		return syntaxError(at+1, "there are more than %d texts", maxCues)
	}
	lines, size, err := p.parseText(at+1, to, 0)
	if err != nil {
		return p.leaveOut(err)
	}
	c := Cue{Start: start, End: end, Lines: lines, Line: at + 1}
	if p.subrip {
		c.Settings = subripPlace(p.lines[at+1 : to])
	} else {
		c.Settings = settings(m[3])
	}
	if len(lines) == 0 { // there is nothing to show
		return nil
	}
	p.cues, p.size, p.dropped = append(p.cues, c), size, false
	return nil
}

// thinOut sorts the cues, and refuses or leaves out those with which too much would be shown within a Window.
// What is shown then was shown or began when the last of it began, so it is enough to look there.
func (p *parser) thinOut() error {
	sortByStart(p.cues)
	var shown []Cue // in the window in which the next cue begins
	size, window := 0, time.Duration(-1)
	kept := p.cues[:0]
	for _, c := range p.cues {
		if w := c.Start / Window; w != window {
			window, size = w, 0
			shown = slices.DeleteFunc(shown, func(c Cue) bool { return c.End <= window*Window })
			for _, c := range shown {
				size += c.size()
			}
		}
		if len(shown) == maxShown || size+c.size() > maxShownSize {
			if p.forgiving {
				continue
			}
			return syntaxError(c.Line, "more than %d texts, or %d bytes of text, are shown within the %.0f seconds from %s",
				maxShown, maxShownSize, Window.Seconds(), timestamp(window*Window))
		}
		shown, size, kept = append(shown, c), size+c.size(), append(kept, c)
	}
	p.cues = kept
	return nil
}

func (p *parser) malformed(at int, format string, args ...any) error {
	return p.leaveOut(syntaxError(at+1, format, args...))
}

// leaveOut forgives the fault of a cue, which is then left out, or refuses it.
func (p *parser) leaveOut(err error) error {
	if p.forgiving {
		p.dropped = true
		return nil
	}
	return err
}

// parseText returns the text of a cue in some lines of the file. size is how many bytes of the cue were read
// before; the new size is returned. The limit counts the lines as they were sent, because lines that are empty
// without their markup could go on for ever.
func (p *parser) parseText(from, to, size int) ([]string, int, error) {
	most := maxText
	if p.forgiving {
		most *= len("&amp;") // what Parse accepted has grown so much at most when it was written
	}
	var out []string
	for i := from; i < to; i++ {
		if size += len(p.lines[i]); size > most {
			return nil, size, syntaxError(i+1, "the text has more than %d bytes", most)
		}
		if line := strings.TrimSpace(cleanLine(p.lines[i], p.subrip, !p.subrip || p.forgiving)); line != "" {
			out = append(out, line)
		}
	}
	return out, size, nil
}

// parseTime reads "01:02:03.456", "02:03,4" or "02:03".
func parseTime(s string) (time.Duration, bool) {
	whole, fraction, _ := strings.Cut(strings.ReplaceAll(s, ",", "."), ".")
	var d time.Duration
	for i, part := range strings.Split(whole, ":") {
		n, err := strconv.Atoi(part)
		if err != nil || i > 0 && n > 59 {
			return 0, false
		}
		d = d*60 + time.Duration(n)
	}
	d *= time.Second
	if fraction != "" {
		n, err := strconv.Atoi((fraction + "000000")[:6])
		if err != nil {
			return 0, false
		}
		d += time.Duration(n) * time.Microsecond
	}
	return d.Truncate(time.Millisecond), d <= maxTime
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// withoutControls removes what no text needs: control characters, and those that turn
// the direction of everything that follows.
func withoutControls(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r == 0xfeff, r == 0x2028, r == 0x2029:
			return -1
		}
		return r
	}, line)
}
