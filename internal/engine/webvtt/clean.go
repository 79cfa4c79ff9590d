package webvtt

import (
	"html"
	"regexp"
	"strings"
)

var (
	// knownTag is a tag that browsers know: bold, italic, underlined, ruby, a class, a voice, a
	// language, or the time at which the following words are shown.
	knownTag = regexp.MustCompile(`^(?:/?(?:b|i|u|ruby|rt)|(?:c|v|lang)(?:\.[A-Za-z0-9_-]+)*(?:[ \t][^<>&]*)?|/(?:c|v|lang)|(?:\d{2,4}:)?[0-5]\d:[0-5]\d\.\d{3})$`)
	// simpleTag is what a tag of SubRip may be.
	simpleTag = regexp.MustCompile(`^/?[biu]$`)
	// anyTag is what looks like a tag of SubRip, HTML or an editor.
	anyTag = regexp.MustCompile(`^/?[A-Za-z][^<>]*$`)
	// override is a command of ASS, which SubRip files often have.
	override = regexp.MustCompile(`\{\\[^{}]*\}`)
)

// cleanLine returns a line of text as WebVTT has it: known tags stay, others go, and every
// other character stands for itself, unless it is part of an entity: WebVTT has them, and so do tracks of SubRip that
// were made of something else.
func cleanLine(line string, subrip, entities bool) string {
	if subrip {
		line = override.ReplaceAllString(line, "")
	}
	var b strings.Builder
	for line != "" {
		open := strings.IndexByte(line, '<')
		if open < 0 {
			b.WriteString(escapeText(line, entities))
			break
		}
		b.WriteString(escapeText(line[:open], entities))
		line = line[open+1:]
		end := tagEnd(line, subrip)
		if end < 0 { // then none of the other characters < begins a tag either
			b.WriteString(escapeText("<"+line, entities))
			break
		}
		tag := withoutArrow(line[:end])
		switch {
		case subrip && line[end] == '>' && simpleTag.MatchString(strings.ToLower(tag)):
			b.WriteString("<" + strings.ToLower(tag) + ">")
		case !subrip && knownTag.MatchString(tag):
			b.WriteString("<" + tag + ">")
		case !subrip || line[end] == '>' && anyTag.MatchString(tag): // unknown
		default: // no tag, but a character
			b.WriteString("&lt;")
			continue
		}
		line = line[end+1:]
	}
	return b.String()
}

// withoutArrow removes what would make the end of a tag look like the arrow of a time.
func withoutArrow(tag string) string {
	if strings.HasSuffix(tag, "--") {
		return strings.TrimRight(tag, "-")
	}
	return tag
}

// tagEnd returns where a tag ends that line continues; less than 0: nowhere. No tag of SubRip has a <
// within, so the search ends there: it must not pass over the same text again and again.
func tagEnd(line string, subrip bool) int {
	if subrip {
		return strings.IndexAny(line, "<>")
	}
	return strings.IndexByte(line, '>')
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeText escapes text without tags.
func escapeText(s string, entities bool) string {
	if entities {
		s = withoutControls(html.UnescapeString(s))
	}
	return escapes.Replace(s)
}

// setting is a setting of WebVTT that is kept. Regions are not.
var setting = regexp.MustCompile(`^(?:vertical:(?:rl|lr)|line:(?:-?\d{1,4}|\d{1,3}(?:\.\d{1,6})?%)(?:,(?:start|center|end))?|` +
	`position:\d{1,3}(?:\.\d{1,6})?%(?:,(?:line-left|center|line-right))?|size:\d{1,3}(?:\.\d{1,6})?%|align:(?:start|center|end|left|right))$`)

func settings(s string) string {
	var kept []string
	for _, word := range strings.Fields(s) {
		if setting.MatchString(word) && len(kept) < 5 {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

var top = regexp.MustCompile(`\{\\an[789]\}`)

// subripPlace returns the settings of a text that asks for the upper edge.
func subripPlace(lines []string) string {
	for _, line := range lines {
		if top.MatchString(line) {
			return "line:0"
		}
	}
	return ""
}
