package handbook

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// group is a page of the reference: operations about one thing.
type group struct {
	Name       string
	Title      string
	About      string
	Operations []operation
}

// operation is one operation as the reference shows it.
type operation struct {
	ID          string
	Method      string
	Path        string
	Summary     string
	Description string
	Parameters  []field
	PathNames   []string // of the parameters in the path, in their order
	QueryNames  []string
	Body        *body
	Answers     []answer
	Errors      string
	Samples     []sample
}

// body is the body of a request.
type body struct {
	About   string
	Types   []string
	Fields  []field
	Example string // JSON; "" if the body is a file
}

// answer is a successful answer.
type answer struct {
	Status  string
	About   string
	Fields  []field
	Example string
}

// groups are the pages of the reference. An operation belongs to the first one with a word of its path, or to the one
// about videos.
var groups = []struct {
	name, title, about string
	words              []string
}{
	{"webhooks", "Webhooks", "Events that Spool sends to your server.", []string{"webhook"}},
	{"uploads", "Uploads and files", "From the client's file to a video that is being made, and back to the file.", []string{"complete-upload", "import", "original", "replace"}},
	{"sound-and-text", "Sound and text", "Sound tracks, captions, chapters, and what is said.", []string{"audio", "captions", "chapters", "transcribe"}},
	{"pictures", "Pictures", "The poster, and pictures that are laid over videos.", []string{"poster", "watermark"}},
	{"playback", "Playback", "What players and pages need.", []string{"public", "private", "token", "events", "share"}},
	{"audience", "Audience", "Who watches, and how well it plays.", []string{"audience", "play", "cmcd"}},
	{"account", "Keys and tenants", "Keys, people, limits, and the service itself.", []string{"key", "tenant", "usage", "system", "audit", "session", "profile", "brand"}},
	{"videos", "Videos", "Create, read, find, change and delete videos.", []string{"video", "tag"}},
}

// methods are in the order in which operations on one path are shown.
var methods = []string{"post", "get", "put", "patch", "delete"}

// reference makes the pages of the reference from the description of the API: videos first.
func reference(from fs.FS) ([]group, error) {
	d, err := readDocument(from)
	if err != nil {
		return nil, err
	}
	samples, err := readSamples()
	if err != nil {
		return nil, err
	}
	found := map[string][]operation{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range methods {
			of, exists := d.Paths[path][method]
			if !exists {
				continue
			}
			o, err := d.operation(strings.ToUpper(method), path, of)
			if err != nil {
				return nil, err
			}
			o.Samples = append(o.Samples, samples[o.ID]...)
			name := groupOf(path)
			found[name] = append(found[name], o)
		}
	}
	var all []group
	for _, g := range groups {
		if len(found[g.name]) > 0 {
			all = append(all, group{g.name, g.title, g.about, found[g.name]})
		}
	}
	return append(all[len(all)-1:], all[:len(all)-1]...), nil
}

// groupOf returns the name of the page that an operation with a path belongs to.
func groupOf(path string) string {
	words := strings.Split(path, "/")
	for _, g := range groups {
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(g.words, w) }) {
			return g.name
		}
	}
	return "account"
}

// operation describes one operation.
func (d *document) operation(method, path string, of described) (operation, error) {
	o := operation{ID: of.OperationID, Method: method, Path: path, Summary: of.Summary, Description: of.Description}
	for _, p := range of.Parameters {
		f := d.field(p.Name, p.Schema, deepest)
		f.Required = p.Required
		if p.Description != "" {
			f.Description = p.Description
		}
		switch p.In {
		case "header":
			f.Type = "header"
		case "path":
			o.PathNames = append(o.PathNames, p.Name)
		case "query":
			o.QueryNames = append(o.QueryNames, p.Name)
		}
		o.Parameters = append(o.Parameters, f)
	}
	var err error
	if o.Body, err = d.body(of.RequestBody); err != nil {
		return o, fmt.Errorf("describe the body of %s: %w", o.ID, err)
	}
	var refused []string
	for _, status := range slices.Sorted(maps.Keys(of.Responses)) {
		if code, err := strconv.Atoi(status); err != nil || code >= http.StatusBadRequest {
			refused = append(refused, status)
			continue
		}
		a, err := d.answer(status, of.Responses[status])
		if err != nil {
			return o, fmt.Errorf("describe an answer of %s: %w", o.ID, err)
		}
		o.Answers = append(o.Answers, a)
	}
	o.Errors = strings.Join(refused, ", ")
	o.Samples = []sample{{"curl", curl(o)}}
	return o, nil
}

// body describes the body of a request.
func (d *document) body(c *content) (*body, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // most operations have none
	}
	b := &body{About: c.Description, Types: slices.Sorted(maps.Keys(c.Content))}
	if at, ok := c.Content["application/json"]; ok {
		example, err := indented(d.requestBody(at.Schema))
		if err != nil {
			return nil, err
		}
		b.Fields, b.Example = d.fields(at.Schema, 1), example
	}
	return b, nil
}

// answer describes a successful answer.
func (d *document) answer(status string, c *content) (answer, error) {
	code, err := strconv.Atoi(status)
	if err != nil {
		return answer{}, err
	}
	a := answer{Status: status + " " + http.StatusText(code)}
	if c.Description != http.StatusText(code) {
		a.About = c.Description
	}
	at, ok := c.Content["application/json"]
	if !ok {
		at, ok = c.Content["text/event-stream"]
	}
	if !ok {
		return a, nil
	}
	a.Fields = d.fields(at.Schema, 1)
	a.Example, err = indented(d.example(at.Schema, 1))
	return a, err
}

// curl returns a request as a command of a shell. The names in the path are variables.
func curl(o operation) string {
	path := o.Path
	for _, name := range o.PathNames {
		path = strings.ReplaceAll(path, "{"+name+"}", "$"+strings.ToUpper(name))
	}
	command := fmt.Sprintf("curl \"$SPOOL%s\" -H \"X-API-KEY: $KEY\"", path)
	if o.Method != http.MethodGet && (o.Body == nil || o.Method != http.MethodPost) {
		command = fmt.Sprintf("curl -X %s \"$SPOOL%s\" -H \"X-API-KEY: $KEY\"", o.Method, path)
	}
	if o.Body == nil {
		return command
	}
	if o.Body.Example != "" {
		return command + " \\\n  -H 'Content-Type: application/json' -d '" + shortJSON(o.Body.Example) + "'"
	}
	return command + " \\\n  -H 'Content-Type: " + o.Body.Types[0] + "' --data-binary @FILE"
}

// shortJSON returns JSON in one line where it fits there.
func shortJSON(long string) string {
	var value json.RawMessage
	if json.Unmarshal([]byte(long), &value) != nil {
		return long
	}
	one := strings.Join(strings.Fields(long), " ")
	if len(one) > 70 {
		return long
	}
	return one
}
