package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"
)

// answerTimeout is how long a customer waits for an answer of the API.
const answerTimeout = 10 * time.Second

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// passing reports whether the answer says: not now.
func (r reply) passing() bool {
	return (r.status == http.StatusServiceUnavailable || r.status == http.StatusInsufficientStorage) && r.header.Get("Retry-After") != ""
}

// decode reads the body of an answer that must have the given status.
func (r reply) decode(status int, v any) error {
	if r.status != status {
		return fmt.Errorf("the answer is %d %.300s; want %d", r.status, r.body, status)
	}
	if err := json.Unmarshal(r.body, v); err != nil {
		return fmt.Errorf("decode %.300s: %w", r.body, err)
	}
	return nil
}

// direct sends each request on a connection of its own, so that whether one
// failed is never a matter of what became of the one before.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// send sends a request and reads its answer.
func send(ctx context.Context, method, address string, body []byte, headers map[string]string) (reply, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, r)
	if err != nil {
		return reply{}, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := direct.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, text}, err
}

// header is one more line in the head of a request.
type header struct{ name, value string }

// call sends a request of the API to one process.
func (n *node) call(ctx context.Context, method, path string, body any, more ...header) (reply, error) {
	address := n.address()
	if address == "" {
		return reply{}, syscall.ECONNREFUSED // it does not listen yet
	}
	headers := map[string]string{"X-API-KEY": apiKey}
	for _, h := range more {
		headers[h.name] = h.value
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return reply{}, err
		}
		headers["Content-Type"] = "application/json"
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return send(ctx, method, address+path, text, headers)
}

// call sends a request of the API as a load balancer does: to the next process
// that wants requests, and to another one only if that refuses the connection.
func (f *fleet) call(ctx context.Context, method, path string, body any, more ...header) (r reply, err error) {
	for range 2 * len(f.apis) {
		if r, err = f.pick().call(ctx, method, path, body, more...); !errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	return r, err
}

// pick returns the next API process that wants requests, or any if none does.
func (f *fleet) pick() *node {
	for range f.apis {
		if n := f.next(); !n.isOut() {
			return n
		}
	}
	return f.next()
}

func (f *fleet) next() *node { return f.apis[int(f.turn.Add(1))%len(f.apis)] }

// watch asks a process over and over whether it wants requests.
func (n *node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		reason := n.readiness()
		n.mu.Lock()
		n.out = reason
		n.mu.Unlock()
		time.Sleep(2 * pause)
	}
}

func (n *node) isOut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out != ""
}
