package problem

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
)

// headerRequestID is the header that names a request, in both directions.
const headerRequestID = "X-Request-Id"

type contextKey struct{}

// requestInfo is what the context of a request carries.
type requestInfo struct {
	id  string
	log *slog.Logger
}

// isSafeID reports whether a client's ID is safe in log lines and headers.
func isSafeID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// RequestID gives every request an ID: the client's own if it is safe, otherwise a
// new one. The ID is in the X-Request-Id header of the response, in the context
// (see ID), and in the log entries about problems of this request.
func RequestID(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !isSafeID(id) {
			id = rand.Text()
		}
		w.Header().Set(headerRequestID, id)
		ctx := context.WithValue(r.Context(), contextKey{}, &requestInfo{id: id, log: log})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// ID returns the ID of the request that ctx belongs to, or "" outside RequestID.
func ID(ctx context.Context) string {
	if info, ok := ctx.Value(contextKey{}).(*requestInfo); ok {
		return info.id
	}
	return ""
}

func logger(ctx context.Context) *slog.Logger {
	if info, ok := ctx.Value(contextKey{}).(*requestInfo); ok && info.log != nil {
		return info.log
	}
	return slog.Default()
}
