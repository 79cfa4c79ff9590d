package s3_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// Amazon begins to answer before a long request is done, with 200, and tells in
// the body when it went wrong after all.
func TestErrorsInAnAnswerOf200AreErrors(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, op := range []string{"copy", "complete", "delete"} {
		for _, code := range []string{"InternalError", "SlowDown"} {
			t.Run(op+" "+code, func(t *testing.T) {
				t.Parallel()
				s, p := behind(t, server)
				s3.CopyInParts(s, part, part)
				p.spoilWith(first(op, 2, answer(http.StatusOK, code)))
				everything(t, s)
				if p.counted()[op] < 3 {
					t.Errorf("%v requests; want %s to be tried again", p.counted(), op)
				}
			})
		}
	}
}

// Some proxies make the ETags of a server weak, and some servers forget the
// quotes. A version is a version all the same.
func TestETagsOfOtherForms(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for name, form := range map[string]func(string) string{
		"weak":           func(etag string) string { return "W/" + etag },
		"without quotes": func(etag string) string { return strings.Trim(etag, `"`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := behind(t, server)
			p.spoilWith(func(string, int) spoiler { return rewriteETag(form) })
			everything(t, s)
			info := put(t, s, "pinned", noise(1000))
			if _, err := s.Copy(t.Context(), "pinned", "copy", info.ETag); err != nil {
				t.Errorf("Copy of a version = %v", err)
			}
		})
	}
}

// rewriteETag passes a request on and changes the ETag in the headers of the
// answer.
func rewriteETag(form func(string) string) spoiler {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&etagWriter{w, form, false}, r)
	}
}

type etagWriter struct {
	http.ResponseWriter
	form func(string) string
	sent bool
}

func (e *etagWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *etagWriter) WriteHeader(status int) {
	if etag := e.Header().Get("ETag"); etag != "" && !e.sent {
		e.Header().Set("ETag", e.form(etag))
	}
	e.sent = true
	e.ResponseWriter.WriteHeader(status)
}
