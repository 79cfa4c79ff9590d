package handbook

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// section is a part of the table of contents: pages for one kind of reader.
type section struct {
	Title   string
	Entries []entry
}

// entry is a page in the table of contents.
type entry struct {
	Name  string
	Title string
	About string // one line
}

// beside are pages that are not in the folder docs, by their path as the handbook links to it.
var beside = map[string]string{
	"../CHANGELOG.md":                 "changelog",
	"../CONTRIBUTING.md":              "contributing",
	"../SECURITY.md":                  "security",
	"../clients/typescript/README.md": "typescript",
}

// pageOf returns the name of the page that is made of a file, named relative to the folder docs.
func pageOf(file string) (string, bool) {
	if name, known := beside[file]; known {
		return name, true
	}
	name, found := strings.CutSuffix(file, ".md")
	if !found || strings.Contains(name, "/") {
		return "", false
	}
	if name == "README" {
		return Index, true
	}
	return name, true
}

// fileOf returns the path in the repository of the file of a page.
func fileOf(name string) string {
	if name == Index {
		return "docs/README.md"
	}
	for file, page := range beside {
		if page == name {
			return path.Join("docs", file)
		}
	}
	return "docs/" + name + ".md"
}

var (
	sectionLine = regexp.MustCompile(`^\*\*(.+?)\*\*`)
	rowLine     = regexp.MustCompile(`^\| (\[.+?\)) \| (.*) \|$`)
	pageLink    = regexp.MustCompile(`\[([^\]]+)\]\(([^)#]+\.md)\)`)
)

// contents reads the table of contents from the first page: bold lines begin a section, and what the first column of a
// table links to is a page of it.
func contents(from fs.FS) ([]section, error) {
	readme, err := fs.ReadFile(from, "docs/README.md")
	if err != nil {
		return nil, fmt.Errorf("read the table of contents: %w", err)
	}
	var all []section
	for paragraph := range strings.SplitSeq(string(readme), "\n\n") {
		if title := sectionLine.FindStringSubmatch(paragraph); title != nil {
			all = append(all, section{Title: title[1]})
		}
		if len(all) == 0 {
			continue
		}
		last := &all[len(all)-1]
		if !strings.HasPrefix(paragraph, "|") { // a section may be a sentence with links
			last.add(paragraph, "")
			continue
		}
		for line := range strings.Lines(paragraph) {
			if row := rowLine.FindStringSubmatch(strings.TrimSpace(line)); row != nil {
				last.add(row[1], plain(row[2]))
				last.add(row[2], "")
			}
		}
	}
	return all, nil
}

// add adds the pages that a text links to. What is said about them is about the first one.
func (s *section) add(text, about string) {
	for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
		if name, known := pageOf(link[2]); known && !s.has(name) {
			title := strings.ReplaceAll(link[1], "\n", " ")
			s.Entries = append(s.Entries, entry{Name: name, Title: strings.ToUpper(title[:1]) + title[1:], About: about})
			about = ""
		}
	}
}

func (s *section) has(name string) bool {
	for _, e := range s.Entries {
		if e.Name == name {
			return true
		}
	}
	return false
}

var linkText = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plain returns a line of Markdown without links and marks.
func plain(line string) string {
	return strings.NewReplacer("`", "", "*", "").Replace(linkText.ReplaceAllString(line, "$1"))
}

// withReference puts the reference behind the pages for those who build on Spool, which come first.
func withReference(nav []section, groups []group) []section {
	reference := section{Title: "Reference of the API"}
	for _, g := range groups {
		reference.Entries = append(reference.Entries, entry{Name: referencePrefix + g.Name, Title: g.Title})
	}
	return append([]section{nav[0], reference}, nav[1:]...)
}
