package words

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// reach is how many neighbouring cues the words of a query may be spread over.
	reach = 3
	// maxShown is how many characters of a place are shown.
	maxShown = 500
)

// Query is what is looked for.
type Query struct{ tokens []token }

// Parse reads a query. Without a letter or a digit it is none.
func Parse(text string) (q Query, ok bool) {
	for _, t := range tokens(text) {
		if !slices.Contains(q.tokens, t) {
			q.tokens = append(q.tokens, t)
		}
	}
	return q, len(q.tokens) > 0
}

// wanted returns the words of a tenant that a block must have, each once.
func (q Query) wanted(tenant video.Tenant) []string {
	all := []string{ownWord(tenant)}
	for _, t := range q.tokens {
		all = append(all, t.found()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Match is a place where the words of a query are said.
type Match struct {
	Language   string
	Start, End time.Duration
	Text       string
}

// inBlock returns the places in a block at which all tokens of the query are.
func (q Query) inBlock(b block) ([]Match, error) {
	var cues []cue
	if err := json.Unmarshal([]byte(b.cues), &cues); err != nil {
		return nil, fmt.Errorf("read a block of captions: %w", err)
	}
	return q.in(b.language, cues), nil
}

// in returns the places in neighbouring cues at which all tokens of the query are, each as short as possible.
func (q Query) in(language string, cues []cue) []Match {
	met := make([][]bool, len(cues)) // which tokens each cue has
	for i, c := range cues {
		met[i] = q.met(c.Text)
	}
	var all []Match
	for first := 0; first < len(cues); first++ {
		for n := 1; n <= reach && first+n <= len(cues); n++ {
			if !allMet(met[first:first+n]) || allMet(met[first+1:first+n]) { // the second: a shorter place follows
				continue
			}
			all = append(all, matchOf(language, cues[first:first+n]))
			first += n - 1
			break
		}
	}
	return all
}

// met reports which tokens of the query a text has.
func (q Query) met(text string) []bool {
	there := tokens(text)
	met := make([]bool, len(q.tokens))
	for i, t := range q.tokens {
		met[i] = slices.ContainsFunc(there, func(o token) bool {
			return o == t || !t.spaced && !o.spaced && strings.Contains(o.text, t.text)
		})
	}
	return met
}

// allMet reports whether each token is in one of the cues.
func allMet(cues [][]bool) bool {
	if len(cues) == 0 {
		return false
	}
	for i := range cues[0] {
		if !slices.ContainsFunc(cues, func(met []bool) bool { return met[i] }) {
			return false
		}
	}
	return true
}

func matchOf(language string, cues []cue) Match {
	m := Match{Language: language, Start: cues[0].start(), End: cues[0].end()}
	texts := make([]string, len(cues))
	for i, c := range cues {
		texts[i], m.End = c.Text, max(m.End, c.end())
	}
	m.Text = strings.Join(texts, " ")
	if all := []rune(m.Text); len(all) > maxShown {
		m.Text = string(all[:maxShown]) + "…"
	}
	return m
}
