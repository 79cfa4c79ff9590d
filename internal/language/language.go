// Package language names the languages of captions and of sound tracks, for programs and for people.
package language

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// Undetermined is the language of a track that does not say it.
const Undetermined = "und"

// maxLanguage is how many bytes a name of a language may have.
const maxLanguage = 35

// Parse returns the canonical name of a language (BCP 47): "en" for "eng", "zh-Hant-TW" for
// "zh-hant_tw". It reports false for what is none.
func Parse(s string) (string, bool) {
	if s == "" || len(s) > maxLanguage {
		return "", false
	}
	tag, err := language.All.Parse(s)
	if err != nil || len(tag.String()) > maxLanguage || len(tag.Extensions()) > 0 {
		return "", false
	}
	return tag.String(), true
}

// NameOf returns what people who speak a language call it, with what tells it from others of the
// same name: "português (BR)".
func NameOf(name string) string {
	tag, err := language.Parse(name)
	if err != nil || name == Undetermined {
		return "Unknown language"
	}
	own := display.Self.Name(tag)
	if own == "" {
		return name
	}
	base, _ := tag.Base()
	if rest, more := strings.CutPrefix(tag.String(), base.String()+"-"); more && own == display.Self.Name(language.Make(base.String())) {
		own += " (" + rest + ")"
	}
	return own
}

// TrackLabel returns what a sound track is called that has no title. kind is what people hear: main, dub, commentary or
// description.
func TrackLabel(name, kind string) string {
	what := map[string]string{"commentary": "Commentary", "description": "Audio description"}[kind]
	switch {
	case name == Undetermined:
		return cmp.Or(what, "Sound")
	case what != "":
		return NameOf(name) + " – " + what
	}
	return NameOf(name)
}

// MaxLabel is how many characters a label may have that people see in a menu.
const MaxLabel = 100

// IsLabel reports whether a text can be a label: it is one line, and not too long.
func IsLabel(s string) bool {
	return utf8.RuneCountInString(s) <= MaxLabel && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Title returns the title that a file gives a track, as it can be shown, or "".
func Title(s string) string {
	title := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s))
	if utf8.RuneCountInString(title) > MaxLabel {
		return ""
	}
	return title
}
