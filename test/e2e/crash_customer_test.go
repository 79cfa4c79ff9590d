package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// customer wants a video transcoded, again and again, from a server that keeps
// dying. It does what any careful client does: a request without an answer is
// sent again, an answer is believed.
type customer struct {
	film   newVideo
	clip   string
	frames int

	stage    stage
	current  upload
	finished []upload
	lost     error // an answer that should not have been
}

// stage is how far the current video has come, as its customer knows.
type stage int

const (
	notCreated stage = iota
	isCreated
	isStored
	isAccepted
)

// goOn takes step after step until the server dies, or something is lost, or,
// the last time, the current video is ready.
func (c *customer) goOn(s *server, last bool) {
	base := c.enter(s)
	for base != "" && c.lost == nil && !s.died() {
		before := len(c.finished)
		if err := c.step(s, base); err != nil {
			c.lost = err
		}
		if last && len(c.finished) > before {
			return
		}
	}
}

// enter waits until the server says where it listens. It returns "" if it dies
// before that.
func (c *customer) enter(s *server) string {
	for !s.died() {
		if m := announcement.FindStringSubmatch(s.out.String()); m != nil {
			return m[1]
		}
		time.Sleep(pollPause)
	}
	return ""
}

// died reports whether the server's process has ended.
func (s *server) died() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// step sends the next request. Its error is an answer that breaks a promise; no
// answer at all is none.
func (c *customer) step(s *server, base string) error {
	id := "/api/video/" + c.current.ID
	switch c.stage {
	case notCreated:
		return c.ask(s, "POST", base+"/api/video", c.film, http.StatusCreated, &c.current, isCreated)
	case isCreated:
		return c.send(s, base)
	case isStored:
		return c.ask(s, "POST", base+id+"/complete-upload", nil, http.StatusCreated, &struct{}{}, isAccepted)
	}
	route := "/private/60"
	if c.film.IsPublic {
		route = "/public"
	}
	var w watch
	if err := c.ask(s, "GET", base+id+route, nil, http.StatusOK, &w, isAccepted); err != nil {
		return err
	}
	switch w.Status {
	case "ready":
		c.finished = append(c.finished, c.current)
		c.stage = notCreated
	case "", "processing": // no answer, or not yet
		time.Sleep(pollPause)
	default:
		return fmt.Errorf("video %s is %s: %+v", w.ID, w.Status, w.Failure)
	}
	return nil
}

// ask sends a request to the API and goes to the next stage when it is answered.
func (c *customer) ask(s *server, method, address string, body any, want int, answer any, next stage) error {
	headers := []header{{"X-API-KEY", apiKey}}
	var text string
	if body != nil {
		headers = append(headers, header{"Content-Type", "application/json"})
		text = string(encode(s.t, body))
	}
	r, err := s.trySend(method, address, strings.NewReader(text), headers...)
	if err != nil {
		return nil
	}
	if r.status != want {
		return fmt.Errorf("%s %s answers %d %s; want %d", method, address, r.status, r.body, want)
	}
	c.stage = next
	return json.Unmarshal(r.body, answer)
}

// send uploads the clip. Each server listens on another port.
func (c *customer) send(s *server, base string) error {
	file, done, err := openSized(c.clip)
	if err != nil {
		return err
	}
	defer done()
	address := c.current.UploadURL
	if !onFleet() { // the server of this address may have died
		address = base + address[strings.Index(address, "/upload/"):]
	}
	r, err := s.trySend("PUT", address, file, header{"Content-Type", c.current.ContentType})
	if err != nil {
		return nil
	}
	if r.status != http.StatusOK {
		return fmt.Errorf("PUT answers %d %s; want 200", r.status, r.body)
	}
	c.stage = isStored
	return nil
}
