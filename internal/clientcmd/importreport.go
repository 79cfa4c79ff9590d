package clientcmd

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/spool-video/spool/client"
)

// report is a file with an object for each line that was tried. Its first line names the import, so that another import of the same list
// has other keys of requests.
type report struct {
	run    string
	videos map[string]reported // what became of lines that are videos, by their hash
	tries  map[string]int      // how often a line became a video that failed

	mu   sync.Mutex
	file *os.File
}

// reported is a line of a report.
type reported struct {
	Run    string        `json:"import,omitempty"` // of the first line
	Line   int           `json:"line,omitempty"`
	Source string        `json:"source,omitempty"`
	ID     string        `json:"id,omitempty"`
	Status client.Status `json:"status,omitempty"`
	Error  *fault        `json:"error,omitempty"`
	Failed bool          `json:"failed,omitempty"` // nothing can be made of the file that was sent
	Hash   string        `json:"hash,omitempty"`
}

// openReport opens a report, and reads what is done.
func openReport(name string) (*report, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	r := &report{file: f, videos: map[string]reported{}, tries: map[string]int{}}
	if err := r.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", forTerminal(name), err), f.Close())
	}
	return r, nil
}

// load reads what is done. The last line may have been cut off: it is removed.
func (r *report) load() error {
	if err := syscall.Flock(int(r.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.New("another spool import is writing this report")
	}
	text, err := io.ReadAll(r.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	for one := range bytes.Lines(text[:whole]) {
		var e reported
		if err := json.Unmarshal(one, &e); err != nil {
			continue // a line that a full disk cut off; without the first one, it is no report
		}
		switch {
		case e.Run != "":
			r.run = e.Run
		case e.Error == nil:
			r.videos[e.Hash] = e
		case e.Failed:
			delete(r.videos, e.Hash)
			r.tries[e.Hash]++
		}
	}
	if r.run != "" {
		return r.file.Truncate(int64(whole))
	}
	if len(text) > 0 {
		return errors.New("this is no report of spool import: name another file with --report")
	}
	r.run = rand.Text()
	return r.add(reported{Run: r.run})
}

// todo returns the lines that are no videos yet or, if ready is wanted, not known to be ready.
func (r *report) todo(lines []line, ready bool) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool {
		e, is := r.videos[l.hash]
		return is && (!ready || e.Status == client.Ready)
	})
}

// keyOf returns the Idempotency-Key of a line. After a video of it has failed it is another one; after a lost connection it is the same.
func (r *report) keyOf(l line) string { return fmt.Sprintf("%s-%s-%d", r.run, l.hash, r.tries[l.hash]) }

// add writes what became of a line.
func (r *report) add(e reported) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return printJSON(r.file, e)
}

func (r *report) close() error { return r.file.Close() }
