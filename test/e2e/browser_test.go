package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// findBrowser returns the browser to test with.
func findBrowser(t testing.TB) string {
	t.Helper()
	return need.Program(t, "chromium", "chromium-browser", "google-chrome", "chrome")
}

// browserFlags keep a browser to itself: no window, no audio, no requests of its own. No page of it
// waits because another test looks at its own.
func browserFlags(t testing.TB) []string {
	return []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--no-first-run", "--mute-audio", "--hide-scrollbars",
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--disable-background-timer-throttling",
		"--remote-debugging-pipe", "--no-startup-window", "--user-data-dir=" + t.TempDir()}
}

// browser is a running browser, which all tests of a run share. It is driven by Chrome's DevTools
// protocol: JSON messages with a NUL behind each, over two pipes.
type browser struct {
	to io.Writer

	mu      sync.Mutex
	last    int
	answers map[int]chan message
	tabs    map[string]*tab // by their sessions
	dead    error
}

// message is a command, an answer or an event.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// oneBrowser is started by the first test that needs it, and once more when it has died: a browser
// takes two seconds of CPU time to start, a page in a running one a tenth of that.
type oneBrowser struct {
	mu      sync.Mutex
	session *rig.Session
	now     *browser
}

func (o *oneBrowser) get(t testing.TB) *browser {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == nil || o.now.gone() != nil {
		o.close()
		o.now, o.session = nil, rig.NewSession(t, lab.dir)
		o.now = startBrowser(o.session)
	}
	return o.now
}

func (o *oneBrowser) close() {
	if o.session != nil {
		o.session.Close()
	}
}

func startBrowser(t testing.TB) *browser {
	t.Helper()
	cmd := exec.Command(findBrowser(t), browserFlags(t)...)
	commands, to := pipe(t)
	from, answers := pipe(t)
	cmd.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4
	exited, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	commands.Close()
	answers.Close()
	b := &browser{to: to, answers: map[int]chan message{}, tabs: map[string]*tab{}}
	go b.listen(from)
	t.Cleanup(func() {
		if b.gone() != nil {
			_ = cmd.Process.Kill() // it hangs, or has ended
		}
		_, _ = b.send("", "Browser.close", nil) // it may be gone already
		to.Close()
		select {
		case <-exited:
		case <-time.After(startTimeout):
			_ = cmd.Process.Kill() // it has ended meanwhile
			<-exited
		}
	})
	return b
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// listen hands out what the browser says, until it ends.
func (b *browser) listen(from io.Reader) {
	for r := bufio.NewReader(from); ; {
		text, err := r.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(text[:len(text)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.dead = fmt.Errorf("the browser has gone: %w", err)
			for _, waiting := range b.answers {
				close(waiting)
			}
			b.mu.Unlock()
			return
		}
		waiting, tab := b.answers[m.ID], b.tabs[m.SessionID]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		if waiting != nil {
			waiting <- m
		} else if m.ID == 0 && tab != nil {
			tab.hear(m)
		}
	}
}

// gone returns why the browser does not run any more.
func (b *browser) gone() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dead
}

// post sends a command to a page, or with no session to the browser itself. Its answer comes through the channel.
func (b *browser) post(session, method string, params any) (<-chan message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead != nil {
		return nil, b.dead
	}
	b.last++
	text, err := json.Marshal(struct {
		ID        int    `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
	}{b.last, session, method, params})
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	b.answers[b.last] = answer
	_, err = b.to.Write(append(text, 0))
	return answer, err
}

func (b *browser) send(session, method string, params any) (json.RawMessage, error) {
	answer, err := b.post(session, method, params)
	if err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return nil, errors.New("the browser has gone")
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s", m.Error)
		}
		return m.Result, nil
	case <-time.After(readyTimeout):
		err := fmt.Errorf("no answer within %s", readyTimeout)
		if session == "" { // the browser hangs, not a page: the next test starts another
			b.mu.Lock()
			b.dead = cmp.Or(b.dead, err)
			b.mu.Unlock()
		}
		return nil, err
	}
}
