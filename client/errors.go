package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Some codes of errors. docs/api.md has all of them.
const (
	CodeInvalidRequest    = "invalid_request"
	CodeMissingAPIKey     = "missing_api_key"
	CodeInvalidAPIKey     = "invalid_api_key"
	CodeInsufficientScope = "insufficient_scope"
	CodeQuotaExceeded     = "quota_exceeded"
	CodeVideoNotFound     = "video_not_found"
	CodeUploadClosed      = "upload_closed"
	CodeUploadMissing     = "upload_missing"
	CodeNotAVideo         = "not_a_video"
	CodeFileTooLarge      = "file_too_large"
	CodeURLExpired        = "url_expired"
	CodeRateLimited       = "rate_limited"
)

// Error is a request that the server refused.
type Error struct {
	Status     int           // of HTTP
	Code       string        // a stable word of the API, such as "quota_exceeded"; "" if it was no Spool that answered
	Title      string        // a few words
	Detail     string        // a sentence for people
	Fields     []FieldError  // what is wrong with the request, for "invalid_request"
	RequestID  string        // finds the request in the server's log
	RetryAfter time.Duration // when the server suggests another try; 0 if it does not
}

// FieldError is a fault of one field of a request.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.Detail)
	for _, f := range e.Fields {
		if f.Message == e.Detail { // once is enough
			continue
		}
		fmt.Fprintf(&text, " %s %s.", f.Field, strings.TrimSuffix(f.Message, "."))
	}
	fmt.Fprintf(&text, " (%d", e.Status)
	if e.Code != "" {
		text.WriteString(" " + e.Code)
	}
	text.WriteString(")")
	return strings.TrimSpace(text.String())
}

// Code returns the code of the API in an error's chain, or "".
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// IsNotFound reports whether the server does not know, or no longer knows, what was asked for.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// FailedError is a video whose processing failed.
type FailedError struct {
	ID string
	Failure
}

func (e *FailedError) Error() string { return e.Message + " (" + e.Code + ")" }

// maxRefusal is how much of a refusal is read.
const maxRefusal = 256 << 10

// refusal reads an answer that is not a success.
func refusal(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode, RetryAfter: retryAfter(res.Header.Get("Retry-After"))}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // what was lost of it is no more telling than the status
	var p struct {
		Code, Title, Detail, RequestID string
		Errors                         []FieldError
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if kind == "application/problem+json" && json.Unmarshal(body, &p) == nil && p.Code != "" {
		e.Code, e.Title, e.Detail, e.RequestID, e.Fields = p.Code, p.Title, p.Detail, p.RequestID, p.Errors
		return e
	}
	e.Title = http.StatusText(res.StatusCode)
	e.Detail = fmt.Sprintf("The server at %s answered %q.", res.Request.URL.Host, res.Status)
	return e
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(s string) time.Duration {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
