package api

import (
	"net/http"

	"github.com/spool-video/spool/internal/web/problem"
)

// serveSpec sends the OpenAPI description of this server.
func (a *API) serveSpec(w http.ResponseWriter, r *http.Request) {
	spec, err := a.spec()
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(spec)
}
