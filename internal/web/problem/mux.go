package problem

import (
	"net/http"
	"path"

	"github.com/spool-video/spool/internal/video"
)

// Mux wraps mux and replaces its plain-text error responses: an unknown path gets
// a 404 problem, a known path with another method a 405 problem with Allow.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// mux would redirect to the cleaned path, with an HTML body.
		if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
			Write(w, r, NotFound())
			return
		}
		// An empty pattern means that mux would answer with its own error.
		reject, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		rejected := discarded{header: http.Header{}}
		reject.ServeHTTP(&rejected, r)
		if rejected.status == http.StatusMethodNotAllowed {
			w.Header()["Allow"] = rejected.header["Allow"]
			Write(w, r, &video.Error{Kind: video.NotAllowed, Code: "method_not_allowed", Msg: "This path does not support " + r.Method + "; see the Allow header."})
			return
		}
		Write(w, r, NotFound())
	})
}

// NotFound is the error for an unknown path.
func NotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is nothing at this path."}
}

// discarded receives the error response that mux would have sent. Its Allow header
// is the only way to learn which methods a path supports.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
