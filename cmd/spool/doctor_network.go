package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// zeros is a file without content.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// largeBody is the size of a file that a proxy must let through.
const largeBody = 64 << 20

// listenAddress is the address of the setting listen, if it has one.
func listenAddress(listen string) net.Addr {
	if ap, err := netip.ParseAddrPort(listen); err == nil {
		return net.TCPAddrFromAddrPort(ap)
	}
	host, port, _ := net.SplitHostPort(listen)
	return hostPort(net.JoinHostPort(host, port))
}

// hostPort is an address with a name, or without a host.
type hostPort string

func (h hostPort) Network() string { return "tcp" }

func (h hostPort) String() string {
	if strings.HasPrefix(string(h), ":") {
		return "127.0.0.1" + string(h)
	}
	return string(h)
}

func (d *doctor) checkServer(ctx context.Context) {
	address := publicAddress("", listenAddress(d.Listen))
	answer, err := d.ask(ctx, address+"/readyz")
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		d.ok("no service runs on %s; it can be started", address)
	case err != nil:
		d.warn("look at the log of the service, or choose another listen", "%s does not answer as Spool does: %v", address, err)
	case answer.Status != "ready":
		d.fail("look at the log of the service", "the service on %s is not ready: %s", address, answer.Detail)
	default:
		d.ok("the service on %s is ready", address)
	}
}

// readyAnswer is what /readyz and /healthz answer.
type readyAnswer struct {
	Status string
	Code   string
	Detail string
}

func (r *readyAnswer) UnmarshalJSON(text []byte) error {
	var in struct {
		Status any // a word, or in an error the number
		Code   string
		Detail string
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	word, _ := in.Status.(string)
	*r = readyAnswer{word, in.Code, in.Detail}
	return nil
}

// ask reads a probe.
func (d *doctor) ask(ctx context.Context, address string) (readyAnswer, error) {
	var answer readyAnswer
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer, err
	}
	res, err := d.http.Do(req)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&answer); err != nil {
		return answer, errors.New("its answer is " + res.Status)
	}
	return answer, nil
}

func (d *doctor) checkBaseURL(ctx context.Context) {
	if d.BaseURL == "" {
		d.ok("not set: URLs begin as each request does; behind a proxy, set it")
		return
	}
	base := strings.TrimSuffix(d.BaseURL, "/")
	answer, err := d.ask(ctx, base+"/healthz")
	if err != nil || answer.Status != "ok" {
		d.fail("let the name lead to the proxy, and the proxy to the service; start the service first", "%s does not lead to Spool: %v", base, withoutURL(err))
		return
	}
	d.ok("%s leads to a service", base)
	d.checkBodies(ctx, base)
}

// checkBodies asks to upload a large file to a URL that is not signed. The service refuses it with its own
// words; a proxy that limits bodies refuses it with others, or cuts the connection. Nothing is sent unless
// somebody wants it.
func (d *doctor) checkBodies(ctx context.Context, base string) {
	const fix = "let the proxy pass on bodies of any size (nginx: client_max_body_size 0) and without storing them first (proxy_request_buffering off)"
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, base+"/upload/1.doctor.doctor/00000000-0000-7000-8000-000000000000", io.LimitReader(zeros{}, largeBody))
	if err != nil {
		d.fail(fix, "%v", err)
		return
	}
	req.ContentLength = largeBody
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("Content-Type", "video/mp4")
	res, err := d.http.Do(req)
	if err != nil {
		d.fail(fix, "an upload of %d MiB through %s breaks off: %v", largeBody>>20, base, withoutURL(err))
		return
	}
	defer res.Body.Close()
	var answer readyAnswer
	_ = json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&answer) // a proxy's answer is no JSON
	if answer.Code == "" {
		d.fail(fix, "a proxy refuses an upload of %d MiB through %s with %s", largeBody>>20, base, res.Status)
		return
	}
	d.ok("uploads of %d MiB pass through %s", largeBody>>20, base)
}

// withoutURL returns what an error of http.Client says beside the URL.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
