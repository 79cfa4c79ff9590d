// Package handbook finds the code samples of the pages that users read, so that
// tests can run them.
//
// A comment above a sample says how it is run:
//
//	<!-- sample: skip: it needs root -->       it is not, and why
//	<!-- sample: serve -->                      the server of the test is started by it
//	<!-- sample: background -->                 it runs until the page ends
//	<!-- sample: with: ID=$(ready) -->          this is run before it
//	<!-- sample: then: test -s film.mp4 -->     this is run after it, and has to succeed
package handbook

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sample is a fenced block of a page.
type Sample struct {
	Page     string // its path in the repository
	Line     int
	Language string
	Text     string
	Notes    map[string]string // what its comments say: "skip", "serve", "background", "with", "then"
}

// String says where the sample is.
func (s Sample) String() string { return fmt.Sprintf("%s:%d", s.Page, s.Line) }

// notes are the words that a comment may begin with.
var notes = []string{"skip", "serve", "background", "with", "then"}

// Pages returns the pages with samples: the handbook and the front pages, the
// quickstart first.
func Pages(root string) ([]string, error) {
	pages := []string{"docs/quickstart.md", "README.md", "clients/typescript/README.md"}
	all, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range all {
		if page := "docs/" + filepath.Base(path); !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	return pages, nil
}

// Samples returns the blocks of a page that name a language, in their order. Blocks
// without one are pictures and what programs print.
func Samples(root, page string) ([]Sample, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	var found []Sample
	var block *Sample
	open, above := false, map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```") && open:
			if block.Language != "" {
				found = append(found, *block)
			}
			open, above = false, map[string]string{}
		case strings.HasPrefix(line, "```"):
			block = &Sample{Page: page, Line: i + 1, Language: strings.TrimSpace(line[3:]), Notes: above}
			open = true
		case open:
			block.Text += line + "\n"
		case strings.HasPrefix(line, "<!-- sample:"):
			if err := note(above, line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", page, i+1, err)
			}
		case line != "":
			above = map[string]string{}
		}
	}
	if open {
		return nil, fmt.Errorf("%s: the last block has no end", page)
	}
	return found, nil
}

// note reads a comment above a sample.
func note(into map[string]string, line string) error {
	line, ended := strings.CutSuffix(strings.TrimPrefix(line, "<!-- sample:"), "-->")
	word, text, _ := strings.Cut(strings.TrimSpace(line), ":")
	text = strings.TrimSpace(text)
	if !ended || !slices.Contains(notes, word) {
		return fmt.Errorf("%q is not one of %q, in a comment of one line", word, notes)
	}
	if word == "skip" && text == "" {
		return fmt.Errorf("a sample that is not run has to say why")
	}
	into[word] = text
	return nil
}
