package handbook

import "strings"

// record is a place that the search finds. The script of the pages reads it.
type record struct {
	Page    string `json:"page"`
	Title   string `json:"title"` // of the page
	Heading string `json:"heading,omitempty"`
	Anchor  string `json:"anchor,omitempty"`
	Words   string `json:"words"`
}

// searchIndex lists all passages of the handbook and all operations of the reference.
func searchIndex(texts []*text, groups []group) []record {
	var all []record
	for _, t := range texts {
		if t.name == Index {
			continue // it only lists the others
		}
		for i := range t.passages {
			p := &t.passages[i]
			r := record{Page: t.name, Title: t.title, Words: strings.Join(strings.Fields(p.words.String()), " ")}
			if p.heading.Level > 1 {
				r.Heading, r.Anchor = p.heading.Title, p.heading.ID
			}
			if r.Words != "" || r.Heading != "" {
				all = append(all, r)
			}
		}
	}
	for _, g := range groups {
		for _, o := range g.Operations {
			words := []string{o.Method, o.Path, o.Description}
			if o.Body != nil {
				for _, f := range o.Body.Fields {
					words = append(words, f.Name)
				}
			}
			all = append(all, record{Page: referencePrefix + g.Name, Title: g.Title, Heading: o.Summary, Anchor: o.ID, Words: strings.Join(words, " ")})
		}
	}
	return all
}
