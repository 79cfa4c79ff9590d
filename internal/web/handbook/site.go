package handbook

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spool-video/spool"
	"github.com/spool-video/spool/internal/web/assets"
)

//go:embed page template samples.txt
var embedded embed.FS

// Index is the name of the first page.
const Index = "index"

// referencePrefix begins the names of the pages that describe the API.
const referencePrefix = "reference-"

// repository is where files are that the program does not carry.
const repository = "https://github.com/spool-video/spool/blob/main/"

// Links says how pages refer to each other. All names are relative to one folder.
type Links struct {
	Home    string // the first page
	Folder  string // what the first page's own links are relative to; "": its own folder
	Suffix  string // behind the names of pages
	Console string // where the pages lead back to; "" if there is no console
}

// Served are the links on a server, which has the first page at /docs and the others below; Static those in files.
var (
	Served = Links{Home: "../docs", Folder: "docs/", Console: "../"}
	Static = Links{Home: "index.html", Suffix: ".html"}
)

// page returns where the page with a name is.
func (l Links) page(name string) string {
	if name == Index {
		return l.Home
	}
	return name + l.Suffix
}

// Site is the handbook as HTML.
type Site struct {
	pages map[string]assets.Document // by name: pages without an extension, and the index of the search
	files *assets.Files              // scripts, styles and pictures
}

// searchFile is the index of the search.
const searchFile = "search.json"

// Load makes the handbook.
func Load(links Links) (*Site, error) {
	nav, err := contents(spool.Handbook)
	if err != nil {
		return nil, err
	}
	groups, err := reference(spool.Handbook)
	if err != nil {
		return nil, err
	}
	texts, err := readTexts(nav)
	if err != nil {
		return nil, err
	}
	files, err := loadFiles()
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(searchIndex(texts, groups))
	if err != nil {
		return nil, err
	}
	s := &Site{pages: map[string]assets.Document{searchFile: assets.NewDocument("application/json", index)}, files: files}
	return s, s.render(page{Nav: withReference(nav, groups), Links: links, files: files}, texts, groups)
}

// loadFiles returns the files that pages load: the design, their own, and the pictures of the handbook.
func loadFiles() (*assets.Files, error) {
	own, err := fs.Sub(embedded, "page")
	if err != nil {
		return nil, err
	}
	pictures, err := fs.Sub(spool.Handbook, "docs/images")
	if err != nil {
		return nil, err
	}
	return assets.Load("docs", assets.Design(), own, pictures)
}

// page is what a template shows.
type page struct {
	Name     string
	Title    string
	Body     template.HTML
	Headings []heading
	Group    *group // of the reference
	Nav      []section
	Previous *entry
	Next     *entry
	Links    Links

	files *assets.Files
}

// File returns where the page finds a file.
func (p page) File(name string) string { return p.files.Version() + "/" + name }

// To returns where the page finds another one.
func (p page) To(name string) string { return p.Links.page(name) }

// IsIndex reports whether this is the first page.
func (p page) IsIndex() bool { return p.Name == Index }

// linkTo returns where a link in the text of a page leads.
func (p page) linkTo(target string) string {
	file, fragment, found := strings.Cut(target, "#")
	if found {
		fragment = "#" + fragment
	}
	switch name, known := pageOf(file); {
	case file == "", strings.Contains(target, "://"), strings.HasPrefix(target, "mailto:"):
		return target
	case known:
		return p.To(name) + fragment
	case strings.HasPrefix(file, "images/"):
		return p.File(path.Base(file))
	}
	return repository + strings.TrimPrefix(path.Join("docs", file), "/") + fragment
}

// render makes all pages. shared is what they have in common.
func (s *Site) render(shared page, texts []*text, groups []group) error {
	templates, err := template.ParseFS(embedded, "template/*.html")
	if err != nil {
		return fmt.Errorf("read the templates of the handbook: %w", err)
	}
	for _, t := range texts {
		p := shared
		p.Name, p.Title, p.Headings = t.name, t.title, t.headings
		if p.Body, err = t.html(p.linkTo); err != nil {
			return err
		}
		if err := s.add(templates, p); err != nil {
			return err
		}
	}
	for i := range groups {
		p := shared
		p.Name, p.Title, p.Group = referencePrefix+groups[i].Name, groups[i].Title, &groups[i]
		if err := s.add(templates, p); err != nil {
			return err
		}
	}
	return nil
}

// add makes a page, which leads to its neighbours in the table of contents.
func (s *Site) add(templates *template.Template, p page) error {
	var all []entry
	for _, section := range p.Nav {
		all = append(all, section.Entries...)
	}
	if at := slices.IndexFunc(all, func(e entry) bool { return e.Name == p.Name }); at >= 0 {
		if at > 0 {
			p.Previous = &all[at-1]
		}
		if at+1 < len(all) {
			p.Next = &all[at+1]
		}
	}
	kind := "page.html"
	if p.Group != nil {
		kind = "reference.html"
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, kind, p); err != nil {
		return fmt.Errorf("make the page %s of the handbook: %w", p.Name, err)
	}
	s.pages[p.Name] = assets.NewDocument("text/html; charset=utf-8", out.Bytes())
	return nil
}
