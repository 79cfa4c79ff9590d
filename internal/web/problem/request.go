package problem

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
)

// headerRequestID is the header that names a request, in both directions.
const headerRequestID = "X-Request-Id"

type contextKey struct{}

// trace is what the context of a request remembers for its answer.
type trace struct {
	id  string
	log *slog.Logger
}

// saneID is what is taken over from a client: an id that cannot break a log
// line or a header.
var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// RequestID gives every request an id: the client's own when it sent a sane
// one, else a new one. The id is in the answer's X-Request-Id header, in the
// context (see ID), and in the lines that problems of this request leave in log.
func RequestID(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !saneID.MatchString(id) {
			id = rand.Text()
		}
		w.Header().Set(headerRequestID, id)
		ctx := context.WithValue(r.Context(), contextKey{}, trace{id: id, log: log})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// ID returns the id of the request that ctx belongs to, or "" outside RequestID.
func ID(ctx context.Context) string {
	t, _ := ctx.Value(contextKey{}).(trace)
	return t.id
}

func logger(ctx context.Context) *slog.Logger {
	if t, ok := ctx.Value(contextKey{}).(trace); ok && t.log != nil {
		return t.log
	}
	return slog.Default()
}
