package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serve answers with a handler, and returns a client of it.
func serve(t *testing.T, h http.HandlerFunc, options ...Option) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(srv.URL, "sp_key", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refuse answers as the server does.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"title":"T","status":%d,"detail":"A sentence.","code":%q,"requestId":"R1"}`, status, code)
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"", "localhost:8080", "ftp://host", "http://", "http://host?x=1", "http://a b"} {
		if _, err := New(server, "key"); err == nil || !strings.Contains(err.Error(), "https://video.example.com") {
			t.Errorf("New(%q) = %v; want a sentence with an example", server, err)
		}
	}
	if _, err := New("http://host", "a key"); err == nil {
		t.Error("a key with a space is accepted")
	}
}

func TestARefusalIsATypedError(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(400)
		io.WriteString(w, `{"status":400,"detail":"The request has invalid fields; see errors.","code":"invalid_request","requestId":"R1","errors":[{"field":"resolutions[1]","code":"not_allowed","message":"must be one of x"}]}`)
	})
	_, err := c.Create(t.Context(), NewVideo{})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != 400 || e.Code != CodeInvalidRequest || e.RequestID != "R1" || len(e.Fields) != 1 || e.Fields[0].Field != "resolutions[1]" {
		t.Fatalf("error is %#v", err)
	}
	if want := "The request has invalid fields; see errors. resolutions[1] must be one of x. (400 invalid_request)"; err.Error() != want {
		t.Errorf("error reads %q, want %q", err, want)
	}
}

func TestACreateIsRepeatedWithTheSameKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		n := len(keys)
		mu.Unlock()
		switch n {
		case 1:
			panic(http.ErrAbortHandler) // the connection breaks
		case 2:
			refuse(w, 503, "database_unavailable")
		default:
			w.WriteHeader(201)
			io.WriteString(w, `{"id":"v1","isPublic":true,"resolutions":{"720p":{"status":"pending_upload"}}}`)
		}
	})
	v, err := c.Create(t.Context(), NewVideo{Filename: "a.mp4"})
	if err != nil || v.ID != "v1" || v.Statuses["720p"] != PendingUpload || !v.Public {
		t.Fatalf("Create = %+v, %v", v, err)
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("the tries had the keys %q; want one key for all", keys)
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	var first time.Time
	var pause time.Duration
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if first.IsZero() {
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			refuse(w, 429, CodeRateLimited)
			return
		}
		pause = time.Since(first)
		io.WriteString(w, `{}`)
	})
	if _, err := c.Usage(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pause < time.Second {
		t.Errorf("the second try came after %s; the server asked for 1 s", pause)
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries.Add(1)
		w.Header().Set("Retry-After", "3600")
		refuse(w, 503, "overloaded")
	})
	if _, err := c.Usage(t.Context()); Code(err) != "overloaded" || tries.Load() != 1 {
		t.Errorf("%d tries end with %v; an hour is longer than it is repeated", tries.Load(), err)
	}
}

func TestWhatMustHappenOnceIsNotRepeatedBlindly(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries.Add(1)
		panic(http.ErrAbortHandler) // it may have been carried out
	})
	if _, err := c.CreateWebhook(t.Context(), NewWebhook{URL: "https://example.com"}); err == nil || tries.Load() != 1 {
		t.Errorf("%d tries, %v; want one and an error", tries.Load(), err)
	}
}

func TestARepeatedDeleteMayFindNothing(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		refuse(w, 404, CodeVideoNotFound)
	})
	if err := c.Delete(t.Context(), "v1"); err != nil {
		t.Errorf("a delete whose answer was lost ends with %v", err)
	}
	if err := c.Delete(t.Context(), "v1"); !IsNotFound(err) {
		t.Errorf("a delete of nothing ends with %v", err)
	}
}

func TestRedirectsDoNotGetTheKey(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { leaked.Store(true) }))
	t.Cleanup(elsewhere.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/api/usage", http.StatusTemporaryRedirect)
	})
	_, err := c.Usage(t.Context())
	if leaked.Load() || err == nil || !strings.Contains(err.Error(), "the server redirects to "+elsewhere.URL) {
		t.Errorf("a redirect ends with %v; followed: %t", err, leaked.Load())
	}
}

func TestIDsCannotBecomeOtherPaths(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Store(r.URL.EscapedPath()) })
	if err := c.Delete(t.Context(), "a/b?c"); err != nil || asked.Load() != "/api/video/a%2Fb%3Fc" {
		t.Errorf("asked for %v, %v", asked.Load(), err)
	}
	asked.Store("nothing")
	for _, id := range []string{"", ".", ".."} {
		if err := c.Delete(t.Context(), id); Code(err) != CodeInvalidRequest || asked.Load() != "nothing" {
			t.Errorf("Delete(%q) = %v, asked for %v", id, err, asked.Load())
		}
	}
}

func TestListsFollowTheirPages(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("limit") != "2" || q.Get("metadata.album") != "42" || q.Get("status") != "ready" ||
			q.Get("isPublic") != "false" || q.Get("createdAfter") != "2030-05-01T12:00:00Z" || q.Has("createdBefore") {
			t.Errorf("asked for %v", q)
		}
		switch q.Get("cursor") {
		case "":
			io.WriteString(w, `{"videos":[{"id":"1"},{"id":"2"}],"nextCursor":"b"}`)
		case "b":
			io.WriteString(w, `{"videos":[],"nextCursor":"c"}`) // a page may be empty
		case "c":
			io.WriteString(w, `{"videos":[{"id":"3","customMetadata":{"n":12345678901234567890}}]}`)
		}
	})
	list := c.Videos(t.Context(), Filter{Status: Ready, Metadata: map[string]string{"album": "42"}, PageSize: 2, Public: new(false),
		CreatedAfter: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)})
	for range 2 { // it can be started again
		var ids, number string
		for v, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			ids += v.ID
			number = fmt.Sprint(v.Metadata["n"])
		}
		if ids != "123" || number != "12345678901234567890" {
			t.Errorf("the list has %q, the number is %s", ids, number)
		}
	}
}

func TestAFaultIsToldOnce(t *testing.T) {
	t.Parallel()
	e := &Error{Status: 400, Code: "address_not_allowed", Detail: "The address must begin with https://.", Fields: []FieldError{{"url", "", "The address must begin with https://."}}}
	if want := "The address must begin with https://. (400 address_not_allowed)"; e.Error() != want {
		t.Errorf("%q; want %q", e.Error(), want)
	}
}

// A download goes on behind a connection that breaks, and follows the server to its bucket without the key.
func TestADownloadGoesOn(t *testing.T) {
	t.Parallel()
	whole, asked := []byte("the whole file"), []string{}
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Range"))
		if r.Header.Get("X-API-KEY") != "" {
			t.Error("the bucket gets the key")
		}
		if len(asked) == 1 {
			w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
			_, _ = w.Write(whole[:5])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(whole))
	}))
	t.Cleanup(bucket.Close)
	server := httptest.NewServer(http.RedirectHandler(bucket.URL, http.StatusFound))
	t.Cleanup(server.Close)
	c, err := New(server.URL, "key", WithRetryFor(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(whole)
	var got bytes.Buffer
	o := Original{URL: server.URL, SizeBytes: int64(len(whole)), SHA256: hex.EncodeToString(sum[:])}
	if err := c.Download(t.Context(), o, &got); err != nil || got.String() != string(whole) || strings.Join(asked, ",") != ",bytes=5-" {
		t.Errorf("Download = %q, %v after %q", &got, err, asked)
	}
}
