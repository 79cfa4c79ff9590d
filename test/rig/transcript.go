package rig

import (
	"strings"
	"sync"
)

// Transcript keeps what a process writes, and can be read meanwhile. Its zero
// value is empty.
type Transcript struct {
	mu   sync.Mutex
	text []byte
}

func (o *Transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, b...)
	return len(b), nil
}

func (o *Transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// Tail returns the last lines of a log, without successful reads:
// the tests make hundreds of them while they wait.
func (o *Transcript) Tail(lines int) string {
	var all []string
	for line := range strings.Lines(o.String()) {
		if !strings.Contains(line, `"method":"GET"`) || !strings.Contains(line, `"status":200`) {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-lines):], "")
}
