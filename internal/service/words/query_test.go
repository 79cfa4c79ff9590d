package words

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/webvtt"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Don't STOP—me":     "don t stop me",
		"Crème brûlée":      "creme brulee",
		"Straße, STRASSE":   "strasse strasse",
		"Łódź Øre İstanbul": "lodz ore istanbul",
		"ﬁne ＡＢＣ １２":        "fine abc 12",
		"шёл ЁЖ":            "шел еж",
		"שָׁלוֹם":           "שלום",
		"東京都に行く":            "東京都に行く",
		"3月カード":             "3 月カード",
		"한국은 좋다":            "한국은 좋다",
		"ไทยๆ":              "ไทยๆ",
		"हिन्दी":            "हिन्दी",
		"♪ [] …":            "",
	} {
		var got []string
		for _, tok := range tokens(text) {
			got = append(got, tok.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("tokens(%q) = %q; want %q", text, got, want)
		}
	}
}

// speech is captions with a cue for each text, every two seconds.
func speech(texts ...string) []byte {
	var cues []webvtt.Cue
	for i, text := range texts {
		at := time.Duration(i) * 2 * time.Second
		cues = append(cues, webvtt.Cue{Start: at, End: at + 2*time.Second, Lines: []string{webvtt.Escape(text)}})
	}
	return webvtt.Encode(cues)
}

// places returns where a query is found in captions, by the way of their blocks.
func places(t *testing.T, query string, text []byte) []string {
	t.Helper()
	q, ok := Parse(query)
	if !ok {
		t.Fatalf("%q is no query", query)
	}
	blocks, err := blocksOf("acme", "en", text)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, b := range blocks {
		there := strings.Fields(b.words)
		if slices.ContainsFunc(q.wanted("acme"), func(w string) bool { return !slices.Contains(there, w) }) {
			continue
		}
		found, err := q.inBlock(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			if place := fmt.Sprint(m.Start.Seconds(), "-", m.End.Seconds()); !slices.Contains(all, place) {
				all = append(all, place)
			}
		}
	}
	return all
}

func TestWhereWordsAreSaid(t *testing.T) {
	t.Parallel()
	talk := speech("Welcome to the café", "where we talk about bread", "and butter", "nothing", "nothing", "bread again", "東京都に", "行きました", "<i>fish</i> & chips")
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"a word in two cues", "bread", []string{"2-4", "10-12"}},
		{"case and accents aside", "CAFE", []string{"0-2"}},
		{"words in neighbouring cues", "bread butter", []string{"2-6"}},
		{"words in three neighbouring cues", "welcome butter", []string{"0-6"}},
		{"words too far from each other", "welcome again", nil},
		{"a part of a word", "bre", nil},
		{"two characters of a script without spaces", "東京", []string{"12-14"}},
		{"one character", "都", []string{"12-14"}},
		{"three characters", "東京都", []string{"12-14"}},
		{"characters that are there in another order", "京東", nil},
		{"pairs that are not in one row", "東京に", nil},
		{"text that looks like a tag", "fish chips", []string{"16-18"}},
	} {
		if got := places(t, tt.query, talk); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q is said at %v; want %v", tt.name, tt.query, got, tt.want)
		}
	}
}

// Two neighbouring cues are in one block, wherever blocks end.
func TestNothingIsLostBetweenBlocks(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprintf("word%d %s", i, strings.Repeat("long ", i%7*300)))
	}
	text := speech(texts...)
	for i := 0; i < 98; i += 5 {
		if got := places(t, fmt.Sprintf("word%d word%d", i, i+2), text); len(got) != 1 {
			t.Fatalf("words of cues %d and %d are found at %v", i, i+2, got)
		}
	}
}

func TestTextsWithoutWords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "WEBVTT\n", "no captions"} {
		if all, err := blocksOf("acme", "en", []byte(text)); err != nil || len(all) != 1 || all[0].words != ownWord("acme") || all[0].cues != "[]" {
			t.Errorf("blocks of %q are %+v, %v", text, all, err)
		}
	}
	for _, query := range []string{"", " ", "?!", "♪"} {
		if _, ok := Parse(query); ok {
			t.Errorf("%q is a query", query)
		}
	}
}
