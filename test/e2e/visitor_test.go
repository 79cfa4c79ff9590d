package e2e

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// visitor is somebody without a key who looks at a page in a browser.
type visitor struct {
	*server
	tab *tab
}

func newVisitor(t testing.TB, s *server) *visitor {
	t.Helper()
	return &visitor{s, openTab(t)}
}

// visit loads a page.
func (v *visitor) visit(address string) {
	v.t.Helper()
	loaded := func() int { return len(heard[any](v.tab, "Page.loadEventFired")) }
	before := loaded()
	v.tab.call("Page.navigate", map[string]any{"url": address}, nil)
	v.until("the page to be loaded", readyTimeout, func() bool { return loaded() > before })
}

// wait waits until an expression is true in the page.
func (v *visitor) wait(what, expression string) {
	v.t.Helper()
	v.until(what, readyTimeout, func() bool { return eval[bool](v.tab, expression) })
}

// press presses a key, as a person does.
func (v *visitor) press(key string) {
	v.t.Helper()
	text := key
	if len(key) > 1 {
		text = ""
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		v.tab.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "text": text}, nil)
	}
}

// inPlayer is JavaScript for the video element of the page's player.
const inPlayer = `document.querySelector("spool-player").media`

// part is JavaScript for a part of the player.
func part(selector string) string {
	return `document.querySelector("spool-player").shadowRoot.querySelector(` + quote(selector) + `)`
}

// waitPlaying waits until the browser has decoded and shown moving pictures.
func (v *visitor) waitPlaying() {
	v.t.Helper()
	v.wait("frames to be shown", `(() => { const m = document.querySelector("spool-player")?.media; return m !== undefined && m.currentTime > 0.3 && m.getVideoPlaybackQuality().totalVideoFrames > 5; })()`)
}

// moving is JavaScript for what moves in the page and in the shadows of its elements, whether or not it can be seen.
const moving = `(() => {
  const found = [];
  const walk = (root) => {
    found.push(...root.getAnimations().map((a) => a.animationName ?? a.transitionProperty));
    for (const e of root.querySelectorAll("*")) {
      if (e.localName.startsWith("animate") && e.closest("svg").getClientRects().length > 0) found.push(e.localName);
      if (e.shadowRoot) walk(e.shadowRoot);
    }
  };
  walk(document);
  return found.join();
})()`

// wantStill wants that nothing moves in the page: for an animation that nobody sees, the browser would draw it 60
// times a second.
func (v *visitor) wantStill() {
	v.t.Helper()
	v.wait("nothing to move in the page", moving+` === ""`)
}

// wantTidy looks for scripts that failed, requests that the page's policy refused, and requests to
// anybody else.
func (v *visitor) wantTidy() {
	v.t.Helper()
	v.wantTidyBut()
}

// wantTidyBut is wantTidy of a page that may ask further sites.
func (v *visitor) wantTidyBut(sites ...string) {
	v.t.Helper()
	if all := heard[any](v.tab, "Runtime.exceptionThrown"); len(all) > 0 {
		v.t.Errorf("scripts failed: %v", all)
	}
	if all := v.violations(); len(all) > 0 {
		v.t.Errorf("the browser reports %q", all)
	}
	allowed := append(sites, v.url)
	if onFleet() {
		allowed = append(allowed, v.bucket.server.Endpoint)
	}
	type sent struct{ Request struct{ URL string } }
	for _, r := range heard[sent](v.tab, "Network.requestWillBeSent") {
		u, err := url.Parse(r.Request.URL)
		if err != nil {
			v.t.Fatal(err)
		}
		if origin := u.Scheme + "://" + u.Host; u.Scheme != "data" && u.Scheme != "blob" && !slices.Contains(allowed, origin) {
			v.t.Errorf("the page asked for %s", r.Request.URL)
		}
	}
}

// violations returns what the browser's log says about the page's policy.
func (v *visitor) violations() []string {
	v.t.Helper()
	type logged struct{ Entry struct{ Source, Text string } }
	var all []string
	for _, l := range heard[logged](v.tab, "Log.entryAdded") {
		if l.Entry.Source == "security" || strings.Contains(l.Entry.Text, "Content Security Policy") {
			all = append(all, l.Entry.Text)
		}
	}
	return all
}

// wantAccessible has axe-core look at the page, in light and dark.
func (v *visitor) wantAccessible(name string, width int) {
	v.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		v.tab.emulate(width, scheme)
		found := v.axe()
		for _, f := range found {
			v.t.Errorf("%s, %s: %s: %s", name, scheme, f.ID, f.Nodes)
		}
		v.tab.shoot(name + "-" + scheme)
	}
}

// pictures keeps pictures of the page, in light and dark, and wants it to fit the screen.
func (v *visitor) pictures(name string, width int) {
	v.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		if scheme == "light" || keepsPictures() {
			v.tab.emulate(width, scheme)
			v.tab.shoot(name + "-" + scheme)
		}
	}
	if got := eval[int](v.tab, `document.documentElement.scrollWidth`); got > width {
		v.t.Errorf("%s: on a screen of %d pixels the page is %d wide", name, width, got)
	}
}

type obstacle struct {
	ID    string          `json:"id"`
	Nodes json.RawMessage `json:"nodes"`
}

// axe looks at the page from a world of its own, so that the page's policy does not concern it.
func (v *visitor) axe() []obstacle {
	v.t.Helper()
	var tree struct {
		FrameTree struct{ Frame struct{ ID string } }
	}
	v.tab.call("Page.getFrameTree", nil, &tree)
	var world struct{ ExecutionContextID int }
	v.tab.call("Page.createIsolatedWorld", map[string]any{"frameId": tree.FrameTree.Frame.ID, "worldName": "axe"}, &world)
	run := func(expression string) json.RawMessage {
		var answer struct {
			Result           struct{ Value json.RawMessage }
			ExceptionDetails json.RawMessage
		}
		v.tab.call("Runtime.evaluate", map[string]any{"expression": expression, "contextId": world.ExecutionContextID, "returnByValue": true, "awaitPromise": true}, &answer)
		if answer.ExceptionDetails != nil {
			v.t.Fatalf("axe: %s", answer.ExceptionDetails)
		}
		return answer.Result.Value
	}
	if string(run(`window.axe === undefined`)) == "true" { // it is large
		run(axeScript(v.t) + "; true")
	}
	var found []obstacle
	text := run(`axe.run({resultTypes: ["violations"]}).then((r) => r.violations.map(({id, nodes}) => ({id, nodes: nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary)})))`)
	if err := json.Unmarshal(text, &found); err != nil {
		v.t.Fatalf("axe answers %s: %v", text, err)
	}
	return found
}
