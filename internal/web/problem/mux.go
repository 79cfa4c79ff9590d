package problem

import (
	"net/http"
	"path"

	"github.com/spool-video/spool/internal/video"
)

// Mux serves mux, with its plain-text refusals replaced: an unknown path is a
// 404 problem, a known path with another method a 405 problem with Allow.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// mux would redirect to the clean form of a path, in HTML.
		if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
			Write(w, r, NotFound())
			return
		}
		// No pattern means that mux answers by itself.
		refuse, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		answer := refusal{header: http.Header{}}
		refuse.ServeHTTP(&answer, r)
		if answer.status == http.StatusMethodNotAllowed {
			w.Header()["Allow"] = answer.header["Allow"]
			Write(w, r, &video.Error{Kind: video.NotAllowed, Code: "method_not_allowed", Msg: "This path does not answer " + r.Method + "; see the Allow header."})
			return
		}
		Write(w, r, NotFound())
	})
}

// NotFound is what a path is answered with that leads nowhere.
func NotFound() *video.Error {
	return &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is nothing at this path."}
}

// refusal takes in what mux would have answered. Only the mux itself knows
// which methods a path allows, and says so in the headers.
type refusal struct {
	header http.Header
	status int
}

func (f *refusal) Header() http.Header         { return f.header }
func (f *refusal) WriteHeader(status int)      { f.status = status }
func (f *refusal) Write(b []byte) (int, error) { return len(b), nil }
