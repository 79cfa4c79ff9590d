package language_test

import (
	"testing"

	"github.com/spool-video/spool/internal/language"
)

func TestLanguage(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"en": "en", "eng": "en", "EN": "en", "en-us": "en-US", "ger": "de", "deu": "de", "fre": "fr", "chi": "zh", "zh-hant_tw": "zh-Hant-TW",
		"pt-br": "pt-BR", "iw": "he", "es-419": "es-419", "und": "und", "fil": "fil",
		"": "", "english": "", "xx": "", "../en": "", "en/..": "", "e": "", "en-x-evil-private-use-that-is-very-long": "", "en-u-nu-arab": "",
		"en\x00": "", "123": "",
	} {
		got, ok := language.Parse(s)
		if got != want || ok != (want != "") {
			t.Errorf("Parse(%q) = %q, %v; want %q", s, got, ok, want)
		}
	}
	for s, want := range map[string]string{"en": "English", "de": "Deutsch", "pt-BR": "português (BR)", "und": "Unknown language"} {
		if got := language.NameOf(s); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", s, got, want)
		}
	}
}
