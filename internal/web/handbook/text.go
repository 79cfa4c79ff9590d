package handbook

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	goldtext "github.com/yuin/goldmark/text"

	"github.com/spool-video/spool"
)

// text is a page of the handbook, parsed.
type text struct {
	name     string
	title    string
	headings []heading
	passages []passage

	source []byte
	root   ast.Node
}

// heading is a place in a page that links lead to.
type heading struct {
	ID    string
	Title string
	Level int
}

// passage is what stands below one heading, as words.
type passage struct {
	heading heading
	words   strings.Builder
}

// markdown reads what GitHub shows, too: tables, bare links, strikethrough.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// readTexts reads the first page and all that the table of contents names.
func readTexts(nav []section) ([]*text, error) {
	names := []string{Index}
	for _, s := range nav {
		for _, e := range s.Entries {
			names = append(names, e.Name)
		}
	}
	var all []*text
	for _, name := range names {
		source, err := fs.ReadFile(spool.Handbook, fileOf(name))
		if err != nil {
			return nil, fmt.Errorf("read a page of the handbook: %w", err)
		}
		all = append(all, parse(name, source))
	}
	return all, nil
}

// parse reads a page. Comments are for those who edit the page, and are left out.
func parse(name string, source []byte) *text {
	t := &text{name: name, source: source, root: markdown.Parser().Parse(goldtext.NewReader(source))}
	t.passages = []passage{{}}
	used := map[string]int{}
	removeComments(t.root)
	for node := t.root.FirstChild(); node != nil; node = node.NextSibling() {
		switch n := node.(type) {
		case *ast.Heading:
			h := heading{Title: t.words(n), Level: n.Level}
			h.ID = anchor(h.Title, used)
			n.SetAttributeString("id", []byte(h.ID))
			if n.Level == 1 && t.title == "" {
				t.title = h.Title
			} else {
				t.headings = append(t.headings, h)
			}
			t.passages = append(t.passages, passage{heading: h})
		default:
			words := &t.passages[len(t.passages)-1].words
			words.WriteString(t.words(n))
			words.WriteByte(' ')
		}
	}
	return t
}

// removeComments removes HTML from a page. The pages have none but comments.
func removeComments(below ast.Node) {
	for node := below.FirstChild(); node != nil; {
		next := node.NextSibling()
		if node.Kind() == ast.KindHTMLBlock || node.Kind() == ast.KindRawHTML {
			below.RemoveChild(below, node)
		} else {
			removeComments(node)
		}
		node = next
	}
}

// anchor returns the name of a heading in links, as GitHub makes it, so that links work in both places.
func anchor(title string, used map[string]int) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
	used[id]++
	if n := used[id]; n > 1 {
		return id + "-" + strconv.Itoa(n-1)
	}
	return id
}

// words returns the text below a node, without marks.
func (t *text) words(node ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(t.source))
			if n.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				out.Write(line.Value(t.source))
			}
		}
		if n.Type() == ast.TypeBlock && n != node {
			out.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(out.String())
}

// html returns the page as HTML. linkTo says where its links lead.
func (t *text) html(linkTo func(string) string) (template.HTML, error) {
	_ = ast.Walk(t.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(linkTo(string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(linkTo(string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, t.source, t.root); err != nil {
		return "", fmt.Errorf("make the page %s of the handbook: %w", t.name, err)
	}
	return template.HTML(out.String()), nil // the pages are ours
}
