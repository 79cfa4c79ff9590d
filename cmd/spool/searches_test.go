package main

import (
	"net/http"
	"testing"
)

// TestSearchesKeepNobodyElseWaiting has searches that use all connections they may use. Reads and
// probes are answered as if there were none, and further searches are refused.
func TestSearchesKeepNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	r, p := runParts(t)
	var release []func() error
	for range p.store.Searcher().Stats().MaxOpenConnections {
		conn, err := p.store.Searcher().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		release = append(release, conn.Close)
	}
	get := func(path string) *http.Response {
		return r.ask(t, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-API-KEY: "+edgeKey+"\r\n\r\n")
	}
	for _, path := range []string{"/readyz", "/api/video", "/api/video?status=ready"} {
		if res := get(path); res.StatusCode != http.StatusOK {
			t.Errorf("%s is answered with %d", path, res.StatusCode)
		}
	}
	const search = "/api/video?metadata.album=42"
	res := get(search)
	if wantCode(t, search, res, 503, "overloaded"); res.Header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	for _, f := range release {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
	if res := get(search); res.StatusCode != http.StatusOK {
		t.Errorf("a search is answered with %d", res.StatusCode)
	}
	r.stop()
	r.wait(t)
}
