package e2e

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// tab is a page in a real browser, with a profile of its own.
type tab struct {
	t       testing.TB
	browser *browser
	profile string

	mu      sync.Mutex
	session string
	events  map[string][]json.RawMessage // by their methods
	// onEvent, if set, is called with each event, and must not wait for answers.
	onEvent func(message)
}

// openTab opens an empty page in the browser of all tests. It shares nothing with theirs, and is closed
// with the test.
func openTab(t testing.TB) *tab {
	t.Helper()
	findBrowser(t)
	b := &tab{t: t, browser: together.browser.get(t), events: map[string][]json.RawMessage{}}
	var profile struct{ BrowserContextID string }
	b.ask("Target.createBrowserContext", nil, &profile)
	b.profile = profile.BrowserContextID
	t.Cleanup(func() {
		// The browser may be gone already.
		_, _ = b.browser.send("", "Target.disposeBrowserContext", map[string]any{"browserContextId": b.profile})
		b.browser.forget(b)
	})
	b.enter("about:blank")
	b.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // whatever the others look at
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "DOM"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// forget has a tab hear no more.
func (b *browser) forget(t *tab) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.tabs, func(_ string, other *tab) bool { return other == t })
}

// enter opens another page with the same profile, which commands go to until leave. It returns the session of
// the page before.
func (b *tab) enter(url string) (before string) {
	b.t.Helper()
	var target struct{ TargetID string }
	b.ask("Target.createTarget", map[string]any{"url": url, "browserContextId": b.profile}, &target)
	var session struct{ SessionID string }
	b.ask("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.browser.mu.Lock()
	b.browser.tabs[session.SessionID] = b
	b.browser.mu.Unlock()
	before = b.at()
	b.leave(session.SessionID)
	return before
}

// leave goes back to a page.
func (b *tab) leave(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session = session
}

// at returns the session of the page that commands go to.
func (b *tab) at() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session
}

// hear keeps an event, and tells who wants to know.
func (b *tab) hear(m message) {
	b.mu.Lock()
	b.events[m.Method] = append(b.events[m.Method], m.Params)
	tell := b.onEvent
	b.mu.Unlock()
	if tell != nil {
		tell(m)
	}
}

// post sends a command, whose answer comes through the channel.
func (b *tab) post(method string, params any) (<-chan message, error) {
	return b.browser.post(b.at(), method, params)
}

func (b *tab) send(method string, params any) (json.RawMessage, error) {
	return b.browser.send(b.at(), method, params)
}

// call sends a command to the page and reads its result, which may be nil for none.
func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	b.read(b.at(), method, params, result)
}

// ask sends a command to the browser itself.
func (b *tab) ask(method string, params, result any) {
	b.t.Helper()
	b.read("", method, params, result)
}

func (b *tab) read(session, method string, params, result any) {
	b.t.Helper()
	text, err := b.browser.send(session, method, params)
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
	for _, event := range b.events[method] {
		var params T
		if err := json.Unmarshal(event, &params); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		all = append(all, params)
	}
	return all
}

// emulate has the page drawn so wide, in a light or dark scheme, without motion: colours half way between two would be judged.
func (b *tab) emulate(width int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// keepsPictures reports whether somebody will see pictures of pages.
func keepsPictures() bool {
	keep := flag.Lookup("test.artifacts")
	return keep != nil && keep.Value.String() == "true"
}

// shoot keeps a picture of the page with the test's artifacts (go test -artifacts). Where nobody will see
// it, none is made: it is half of what a look at a page costs.
func (b *tab) shoot(name string) {
	b.t.Helper()
	if !keepsPictures() {
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
