package handbook

import (
	"fmt"
	"io/fs"
	"strings"
)

// sample is how a program asks for an operation.
type sample struct {
	Language string
	Code     string
}

// readSamples reads samples.txt: a line "== operation language" begins a sample.
func readSamples() (map[string][]sample, error) {
	body, err := fs.ReadFile(embedded, "samples.txt")
	if err != nil {
		return nil, err
	}
	all := map[string][]sample{}
	for part := range strings.SplitSeq("\n"+string(body), "\n== ") {
		head, code, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(head) == "" || strings.HasPrefix(head, "#") {
			continue
		}
		id, language, found := strings.Cut(head, " ")
		if !found {
			return nil, fmt.Errorf("samples.txt: %q names no operation and language", head)
		}
		all[id] = append(all[id], sample{language, strings.TrimSpace(code)})
	}
	return all, nil
}
