package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// maxWord is how many bytes of a word are compared.
const maxWord = 64

// token is a part of a text: a word, or, in a script without spaces, the characters up to the next space or sign.
type token struct {
	text   string
	spaced bool // it is a word
}

// accents are the marks that do not matter. In other scripts, such as Devanagari, marks are letters.
var accents = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0300, Hi: 0x036f, Stride: 1},
		{Lo: 0x0591, Hi: 0x05bd, Stride: 1}, // Hebrew
		{Lo: 0x05bf, Hi: 0x05c7, Stride: 1},
		{Lo: 0x0610, Hi: 0x061a, Stride: 1}, // Arabic
		{Lo: 0x064b, Hi: 0x065f, Stride: 1},
		{Lo: 0x0670, Hi: 0x0670, Stride: 1},
		{Lo: 0x06d6, Hi: 0x06ed, Stride: 1},
		{Lo: 0x1ab0, Hi: 0x1aff, Stride: 1},
		{Lo: 0x1dc0, Hi: 0x1dff, Stride: 1},
		{Lo: 0x20d0, Hi: 0x20ff, Stride: 1},
		{Lo: 0xfe20, Hi: 0xfe2f, Stride: 1},
	},
}

// unspaced are the scripts in which words are not, or not always, separated by spaces.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// plainLetters replaces letters that Unicode does not take apart, but people do.
var plainLetters = strings.NewReplacer("ł", "l", "ø", "o", "đ", "d", "ħ", "h", "ı", "i", "æ", "ae", "œ", "oe", "ð", "d", "þ", "th")

// fold returns a text without case, accents and other ways to write the same letters.
func fold(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) { // most of it
		return strings.ToLower(text)
	}
	plain := transform.Chain(norm.NFKD, runes.Remove(runes.In(accents)), norm.NFC)
	folded, _, err := transform.String(plain, cases.Fold().String(text))
	if err != nil {
		folded = strings.ToLower(text)
	}
	return plainLetters.Replace(folded)
}

// tokens takes a text apart.
func tokens(text string) []token {
	var all []token
	var current strings.Builder
	spaced := true
	end := func() {
		if current.Len() > 0 {
			all = append(all, token{current.String(), spaced})
			current.Reset()
		}
	}
	for _, r := range fold(text) {
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			end()
			continue
		}
		if s := isSpaced(r, spaced || current.Len() == 0); s != spaced {
			end()
			spaced = s
		}
		if !spaced || current.Len() < maxWord {
			current.WriteRune(r)
		}
	}
	end()
	return all
}

// isSpaced reports whether a letter is part of a word. Marks and the sign for a long vowel are what the letter before is.
func isSpaced(r rune, before bool) bool {
	if r == 'ー' || unicode.Is(unicode.M, r) && !unicode.In(r, unspaced...) {
		return before
	}
	return !unicode.In(r, unspaced...)
}

// found returns what a search for a token looks for: a word, or each pair of characters. A single character is looked for
// as it is.
func (t token) found() []string {
	if t.spaced || utf8.RuneCountInString(t.text) == 1 {
		return []string{t.text}
	}
	return pairs(t.text)
}

// stored returns by what a token is found.
func (t token) stored() []string {
	if t.spaced {
		return []string{t.text}
	}
	all := pairs(t.text)
	for _, r := range t.text {
		all = append(all, string(r))
	}
	return all
}

// pairs returns each two neighbouring characters of a text.
func pairs(text string) []string {
	var all []string
	var before rune
	for i, r := range text {
		if i > 0 {
			all = append(all, string(before)+string(r))
		}
		before = r
	}
	return all
}
