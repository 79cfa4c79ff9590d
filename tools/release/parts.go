package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/tools/release/spdx"
)

// part is something of others that is in a binary.
type part struct {
	name, version string
	kind          string // "golang" or "npm", as in addresses of packages
	sum           string // as in go.sum
	licences      []string
}

// vendored are the licences of what is embedded, by the page that lists it.
var vendored = map[string][]string{
	"media-chrome": {"internal/web/player/thirdparty/media-chrome.LICENSE"},
	"hls.js":       {"internal/web/player/thirdparty/hls.LICENSE"},
	"swagger-ui":   {"internal/web/api/docs/LICENSE", "internal/web/api/docs/NOTICE", "internal/web/api/docs/swagger-ui-bundle.js.LICENSE.txt"},
}

// parts reads from a binary which modules are in it, and adds what is embedded.
func (r *release) parts(binary string) ([]part, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	all := []part{{name: "std", version: strings.TrimPrefix(info.GoVersion, "go"), kind: "golang", licences: []string{filepath.Join(strings.TrimSpace(string(root)), "LICENSE")}}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		licences, err := r.moduleLicences(m.Path, m.Version)
		if err != nil {
			return nil, err
		}
		all = append(all, part{m.Path, m.Version, "golang", m.Sum, licences})
	}
	for _, list := range []string{"internal/web/player/thirdparty/README.md", "internal/web/api/docs/README.md"} {
		text, err := os.ReadFile(filepath.Join(r.root, list))
		if err != nil {
			return nil, err
		}
		for name, paths := range vendored {
			m := regexp.MustCompile(regexp.QuoteMeta(name) + `(?:-dist\]\(\S+\))? (\d+\.\d+\.\d+)`).FindSubmatch(text)
			if m == nil {
				continue
			}
			p := part{name: name, version: string(m[1]), kind: "npm"}
			for _, path := range paths {
				p.licences = append(p.licences, filepath.Join(r.root, path))
			}
			all = append(all, p)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(all), func(p part) bool { return p.kind != "npm" })); n != len(vendored) {
		return nil, fmt.Errorf("the versions of %d embedded parts were found, of %d", n, len(vendored))
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.kind+a.name, b.kind+b.name) })
	return all, nil
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// moduleLicences finds the licence files of a module in the module cache.
func (r *release) moduleLicences(path, version string) ([]string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download %s: %w", path, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(module.Dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && licenceName.MatchString(e.Name()) {
			found = append(found, filepath.Join(module.Dir, e.Name()))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s@%s has no licence", path, version)
	}
	return found, nil
}

// licences writes the licences of all parts one after the other.
func (r *release) licences(parts []part) ([]byte, error) {
	var text bytes.Buffer
	fmt.Fprint(&text, "Spool contains the following software of others, under these licences.\n")
	for _, p := range parts {
		fmt.Fprintf(&text, "\n%s\n%s %s\n\n", strings.Repeat("=", 78), p.name, p.version)
		for _, path := range p.licences {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&text, "%s\n\n", bytes.TrimSpace(content))
		}
	}
	return text.Bytes(), nil
}

// component is a part in the bill of materials.
type component struct {
	Type       string           `json:"type"`
	Reference  string           `json:"bom-ref"`
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Licences   []map[string]any `json:"licenses"`
	Address    string           `json:"purl"`
	Properties []map[string]any `json:"properties,omitempty"`
}

func (p part) component(kind string) (component, error) {
	id, err := spdx.OfFiles(p.licences)
	if err != nil {
		return component{}, fmt.Errorf("%s: %w", p.name, err)
	}
	licence := map[string]any{"license": map[string]any{"id": id}}
	if strings.Contains(id, " ") {
		licence = map[string]any{"expression": id}
	}
	address := fmt.Sprintf("pkg:%s/%s@%s", p.kind, p.name, p.version)
	c := component{Type: kind, Reference: address, Name: p.name, Version: p.version, Licences: []map[string]any{licence}, Address: address}
	if p.sum != "" {
		c.Properties = []map[string]any{{"name": "go:sum", "value": p.sum}}
	}
	return c, nil
}

// bill writes the bill of materials of a binary, as CycloneDX.
func (r *release) bill(name string, t target, parts []part) error {
	us, err := part{name: "github.com/spool-video/spool", version: r.version, kind: "golang", licences: []string{filepath.Join(r.root, "LICENSE")}}.component("application")
	if err != nil {
		return err
	}
	us.Properties = []map[string]any{{"name": "go:GOOS", "value": t.os}, {"name": "go:GOARCH", "value": t.arch}}
	var components []component
	var needed []string
	for _, p := range parts {
		c, err := p.component("library")
		if err != nil {
			return err
		}
		components, needed = append(components, c), append(needed, c.Reference)
	}
	id := sha256.Sum256(fmt.Append(nil, us.Reference, t, needed)) // the same for the same parts
	document := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"serialNumber": fmt.Sprintf("urn:uuid:%x-%x-5%x-a%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])[:45],
		"metadata":     map[string]any{"timestamp": r.time.Format(time.RFC3339), "component": us},
		"components":   components,
		"dependencies": []map[string]any{{"ref": us.Reference, "dependsOn": needed}},
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), append(text, '\n'), 0o644)
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}
