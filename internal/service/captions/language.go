package captions

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// Undetermined is the language of a track that does not say it.
const Undetermined = "und"

// maxLanguage is how many bytes a name of a language may have.
const maxLanguage = 35

// Language returns the canonical name of a language (BCP 47): "en" for "eng", "zh-Hant-TW" for
// "zh-hant_tw". It reports false for what is none.
func Language(s string) (string, bool) {
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
