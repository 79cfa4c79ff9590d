package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// answerTimeout bounds one try of a request with a small body. Completing an upload may take
	// that long, because a bucket copies the file.
	answerTimeout = 5 * time.Minute
	// maxAnswer bounds the answers that are kept in memory. A page of a list has up to 100 videos
	// with 16 KiB of metadata each.
	maxAnswer = 32 << 20
)

// call is a request to the API.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte // sent as JSON unless header has another Content-Type
	once         bool   // must not be carried out twice
	gone         bool   // a repetition that does not find it any more is a success
}

// do sends a request until it succeeds or there is no hope, and decodes the answer into out unless
// that is nil. It returns the headers of the answer.
func (c *Client) do(ctx context.Context, in call, out any) (http.Header, error) {
	r := retries{retryFor: c.retryFor}
	for repeated := false; ; repeated = true {
		header, err := c.try(ctx, in, out)
		if err == nil || repeated && in.gone && IsNotFound(err) {
			return header, nil
		}
		if ctx.Err() == nil && (!isTransient(err) || in.once && !notCarriedOut(err)) {
			return nil, err
		}
		if err := r.wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

// try sends a request once.
func (c *Client) try(ctx context.Context, in call, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := c.request(ctx, in)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, refusal(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", in.method, in.path, err)
	}
	if out == nil || len(body) == 0 {
		return res.Header, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, &Error{Status: res.StatusCode, Detail: fmt.Sprintf("The answer of %s is not one of a Spool server.", req.URL.Host)}
	}
	return res.Header, nil
}

// request builds a request to the API.
func (c *Client) request(ctx context.Context, in call) (*http.Request, error) {
	for part := range strings.SplitSeq(in.path[1:], "/") {
		if part == "" || part == "." || part == ".." { // it would name something else
			return nil, &Error{Status: http.StatusBadRequest, Code: CodeInvalidRequest, Detail: fmt.Sprintf("%q is no ID.", part)}
		}
	}
	address := strings.TrimSuffix(c.base.String(), "/") + in.path
	if len(in.query) > 0 {
		address += "?" + in.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, in.method, address, bytes.NewReader(in.body))
	if err != nil {
		return nil, err
	}
	if in.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, in.header)
	req.Header.Set("User-Agent", c.userAgent)
	if c.key != "" {
		req.Header.Set("X-API-KEY", c.key)
	}
	return req, nil
}

// get asks for JSON.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	_, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query}, &out)
	return out, err
}

// send sends JSON and returns JSON. in may be nil.
func send[T any](ctx context.Context, c *Client, request call, in any) (T, error) {
	var out T
	if in != nil {
		var err error
		if request.body, err = json.Marshal(in); err != nil {
			return out, fmt.Errorf("encode the request: %w", err)
		}
	}
	_, err := c.do(ctx, request, &out)
	return out, err
}

// withoutURL takes the URL out of an error of http.Client: URLs of uploads are secrets.
func withoutURL(err error) error {
	e, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	host := e.URL
	if u, parseErr := url.Parse(e.URL); parseErr == nil {
		host = u.Host
	}
	return fmt.Errorf("%s: %w", host, e.Err)
}
