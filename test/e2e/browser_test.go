package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// findBrowser returns the browser to test with.
func findBrowser(t testing.TB) string {
	t.Helper()
	return need.Program(t, "chromium", "chromium-browser", "google-chrome", "chrome")
}

// browserFlags keep a browser to itself: no window, no audio, no requests of its
// own.
func browserFlags(t testing.TB) []string {
	return []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--no-first-run", "--mute-audio", "--hide-scrollbars", "--user-data-dir=" + t.TempDir()}
}

// tab is a page in a real browser. It is driven by Chrome's DevTools protocol:
// JSON messages with a NUL behind each, over two pipes.
type tab struct {
	t       testing.TB
	session string
	to      io.Writer

	mu      sync.Mutex
	last    int
	answers map[int]chan message
	events  []message
	dead    error
	// onEvent, if set, is called with each event, and must not wait for answers.
	onEvent func(message)
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

// openTab starts a browser with one empty page. It ends with the test.
func openTab(t testing.TB) *tab {
	t.Helper()
	cmd := exec.Command(findBrowser(t), append(browserFlags(t), "--remote-debugging-pipe", "about:blank")...)
	commands, to := pipe(t)
	from, answers := pipe(t)
	cmd.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	commands.Close()
	answers.Close()
	b := &tab{t: t, to: to, answers: map[int]chan message{}}
	go b.listen(from)
	t.Cleanup(func() {
		_, _ = b.send("Browser.close", nil) // it may be gone already
		to.Close()
		_ = cmd.Wait()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "DOM"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// enter opens another page of the same browser, which commands go to until leave. It returns the session of
// the page before.
func (b *tab) enter(url string) (before string) {
	b.t.Helper()
	before = b.session
	b.leave("")
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": url}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.leave(session.SessionID)
	return before
}

// leave goes back to a page.
func (b *tab) leave(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session = session
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
func (b *tab) listen(from io.Reader) {
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
		waiting, hear := b.answers[m.ID], b.onEvent
		delete(b.answers, m.ID)
		if m.ID == 0 {
			b.events = append(b.events, m)
		}
		b.mu.Unlock()
		if waiting != nil {
			waiting <- m
		} else if hear != nil {
			hear(m)
		}
	}
}

// post sends a command, whose answer comes through the channel.
func (b *tab) post(method string, params any) (<-chan message, error) {
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
	}{b.last, b.session, method, params})
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	b.answers[b.last] = answer
	_, err = b.to.Write(append(text, 0))
	return answer, err
}

func (b *tab) send(method string, params any) (json.RawMessage, error) {
	answer, err := b.post(method, params)
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
		return nil, fmt.Errorf("no answer within %s", readyTimeout)
	}
}

// call sends a command and reads its result, which may be nil for none.
func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	text, err := b.send(method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// eval runs JavaScript in the page, as if a person had just clicked, and returns
// its value.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	return answer.Result.Value
}

// quote writes a text as JavaScript does.
func quote(text string) string {
	b, _ := json.Marshal(text) // a text can always be written
	return string(b)
}

// heard returns the parameters of all events of a kind so far.
func heard[T any](b *tab, method string) []T {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []T
	for _, e := range b.events {
		if e.Method != method {
			continue
		}
		var params T
		if err := json.Unmarshal(e.Params, &params); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		all = append(all, params)
	}
	return all
}

// emulate has the page drawn so wide, in a light or dark scheme.
func (b *tab) emulate(width int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// shoot keeps a picture of the page with the test's artifacts (go test -artifacts). Where nobody will see
// it, none is made: it is half of what a look at a page costs.
func (b *tab) shoot(name string) {
	b.t.Helper()
	if keep := flag.Lookup("test.artifacts"); keep == nil || keep.Value.String() != "true" {
		return
	}
	var picture struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), data, 0o600)
	}
	if err != nil {
		b.t.Errorf("keep a picture: %v", err)
	}
}
