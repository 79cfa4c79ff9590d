package e2e

import (
	"io"
	"strings"
	"sync"
)

// transcript keeps what a process writes.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

var _ io.Writer = (*transcript)(nil)

func newTranscript() *transcript { return new(transcript) }

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// tail returns the last lines of a log, without those of reads that went well:
// the tests make hundreds of them while they wait.
func (o *transcript) tail(lines int) string {
	var all []string
	for line := range strings.Lines(o.String()) {
		if !strings.Contains(line, `"method":"GET"`) || !strings.Contains(line, `"status":200`) {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-lines):], "")
}
