package e2e

import (
	"bufio"
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/rig"
)

// TestWebhooksListen receives events on a machine without a public address.
func TestWebhooksListen(t *testing.T) {
	t.Parallel()
	oneBackend(t, "the command line is the same")
	s, r, dir := shared(t), receiveHooks(t), t.TempDir()
	listen := s.remote(dir, "webhooks", "listen", "--forward", r.URL)
	said := new(rig.Transcript)
	listen.Stdout, listen.Stderr = said, said
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer listen.Process.Kill()
	greeting := regexp.MustCompile(`Webhook (\S+) forwards[\s\S]*?(whsec_\S+)\n`)
	var id string
	s.until("the command to listen", time.Minute, func() bool {
		m := greeting.FindStringSubmatch(said.String())
		if m == nil {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		id, r.secret = m[1], m[2]
		return true
	})
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	s.call("POST", "/api/video/"+u.ID+"/complete-upload", nil).problem(t, 422, "upload_missing")
	s.until("the event to be forwarded", 2*time.Minute, func() bool { return len(r.about(u.ID)) == 1 })
	s.until("it to be told", time.Minute, func() bool { return strings.Contains(said.String(), "video.failed") })
	r.mu.Lock()
	if len(r.wrong) > 0 {
		t.Errorf("a message is wrong: %s", r.wrong[0])
	}
	r.mu.Unlock()

	log, _ := outcome(t, s.remote(dir, "webhooks", "deliveries", id), 0)
	if !strings.Contains(log, "video.failed") || !strings.Contains(log, "delivered") {
		t.Errorf("the log is %s", log)
	}
	if err := listen.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := listen.Wait(); err != nil {
		t.Errorf("Ctrl-C ends it with %v; it said %s", err, said)
	}
	if all, _ := outcome(t, s.remote(dir, "webhooks", "list"), 0); strings.Contains(all, id) {
		t.Errorf("the webhook was left behind: %s", all)
	}
}

// TestWebhooksListenIntoAClosedPipe ends the command as "| head -n 1" does.
func TestWebhooksListenIntoAClosedPipe(t *testing.T) {
	t.Parallel()
	oneBackend(t, "the command line is the same")
	s, dir := shared(t), t.TempDir()
	listen := s.remote(dir, "webhooks", "listen")
	out, err := listen.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer listen.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if words := strings.Fields(line); err != nil || len(words) < 2 {
		t.Fatalf("it says %q, %v", line, err)
	}
	out.Close()
	id := strings.Fields(line)[1]
	if r := s.call("POST", "/api/webhook/"+id+"/test", nil); r.status != 202 {
		t.Fatalf("the answer is %d %s", r.status, r.body)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = listen.Process.Kill() })
	defer stuck.Stop()
	if err := listen.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if all, _ := outcome(t, s.remote(dir, "webhooks", "list"), 0); strings.Contains(all, id) {
		t.Errorf("the webhook was left behind: %s", all)
	}
}

// TestWebhooksOnTheCommandLine manages a webhook.
func TestWebhooksOnTheCommandLine(t *testing.T) {
	t.Parallel()
	oneBackend(t, "the command line is the same")
	s, dir := shared(t), t.TempDir()
	run := func(code int, args ...string) string {
		out, _ := outcome(t, s.remote(dir, append([]string{"webhooks"}, args...)...), code)
		return out
	}
	var h struct {
		ID, URL, Secret, Description string
		Events                       []string
		Enabled                      bool
	}
	read := func(text string) {
		t.Helper()
		h.Events = nil
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	read(run(0, "add", "https://hooks.invalid/x", "--events=video.ready,video.failed", "--description=ours", "--json"))
	if h.URL != "https://hooks.invalid/x" || !strings.HasPrefix(h.Secret, "whsec_") || len(h.Events) != 2 || !h.Enabled {
		t.Errorf("added %+v", h)
	}
	read(run(0, "set", h.ID, "--events=all", "--no-enabled", "--json"))
	if len(h.Events) != 0 || h.Enabled || h.Description != "ours" {
		t.Errorf("changed to %+v", h)
	}
	run(1, "test", h.ID) // it is disabled
	read(run(0, "set", h.ID, "--enabled", "--url=https://other.invalid", "--json"))
	if !h.Enabled || h.URL != "https://other.invalid" {
		t.Errorf("changed to %+v", h)
	}
	run(0, "test", h.ID)
	var d struct{ ID, Type string }
	if text := run(0, "deliveries", h.ID, "--json"); json.Unmarshal([]byte(text), &d) != nil || d.Type != "webhook.test" {
		t.Errorf("the log is %q", text)
	}
	run(0, "replay", d.ID)
	if secret := strings.TrimSpace(run(0, "rotate-secret", h.ID)); !strings.HasPrefix(secret, "whsec_") || secret == h.Secret {
		t.Errorf("the new secret is %q", secret)
	}
	if text := run(0, "get", h.ID); !strings.Contains(text, "https://other.invalid") || strings.Contains(text, "whsec_") {
		t.Errorf("get prints %s", text)
	}
	run(2, "add", "https://127.0.0.1/")
	run(0, "rm", h.ID)
	run(1, "rm", h.ID)
	run(2, "listen", "--forward=nonsense")
}

// describedWebhooks tries every operation on webhooks.
func describedWebhooks(s *server, d *description) {
	const (
		all, one, delivery = "/api/webhook", "/api/webhook/{id}", "/api/webhook/delivery/{id}"
		nobody             = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	)
	h := decode[hook](s.t, d.ask(s, 201, "POST", all, "", map[string]any{"pull": true, "events": hookEvents}), 201)
	d.ask(s, 200, "GET", all, "", nil)
	d.ask(s, 200, "GET", one, h.ID, nil)
	d.ask(s, 200, "PATCH", one, h.ID, map[string]any{"description": "ours", "events": []string{}})
	d.ask(s, 200, "POST", one+"/rotate-secret", h.ID, nil)
	d.ask(s, 202, "POST", one+"/test", h.ID, nil)
	fetched := decode[struct {
		Events []struct{ DeliveryID, Receipt string }
	}](s.t, d.ask(s, 200, "POST", one+"/fetch", h.ID, nil), 200).Events
	if len(fetched) != 1 {
		s.t.Fatalf("fetched %v; want the test", fetched)
	}
	id := fetched[0].DeliveryID
	d.ask(s, 200, "POST", delivery+"/report", id, map[string]any{"receipt": fetched[0].Receipt, "status": 200, "milliseconds": 3})
	d.ask(s, 409, "POST", delivery+"/report", id, map[string]any{"receipt": fetched[0].Receipt, "status": 200})
	d.ask(s, 200, "GET", one+"/deliveries", h.ID, nil)
	d.ask(s, 200, "GET", delivery+"/message", id, nil)
	d.ask(s, 202, "POST", delivery+"/replay", id, nil)
	d.ask(s, 200, "PATCH", one, h.ID, map[string]any{"enabled": false})
	d.ask(s, 409, "POST", one+"/test", h.ID, nil)
	d.ask(s, 409, "POST", delivery+"/replay", id, nil)
	d.ask(s, 400, "POST", all, "", map[string]any{"url": "https://10.0.0.1"})
	d.ask(s, 404, "GET", one, nobody, nil)
	d.ask(s, 404, "POST", delivery+"/replay", nobody, nil)
	d.ask(s, 200, "DELETE", one, h.ID, nil)
	d.ask(s, 404, "DELETE", one, h.ID, nil)
}
