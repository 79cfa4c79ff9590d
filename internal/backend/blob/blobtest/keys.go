package blobtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

var keyCases = []testCase{
	{"every method refuses bad keys", refusesBadKeys},
	{"Delete with one bad key removes nothing", badKeyAmongGood},
}

// badKeys are some that no store may take.
var badKeys = []string{
	"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "a/./b", ".hidden", "a/.tmp-1",
	"a b", "a\x00b", "a\nb", `a\b`, "ä", "a:b", "a%2fb", "a+b", strings.Repeat("k", 513), strings.Repeat("k", 256),
}

func refusesBadKeys(t *testing.T, s blob.Store) {
	put(t, s, "good", "x")
	ctx := t.Context()
	methods := map[string]func(key string) error{
		"Put":          func(k string) error { _, err := s.Put(ctx, k, strings.NewReader("x")); return err },
		"PutFile":      func(k string) error { _, err := s.PutFile(ctx, k, localFile(t, "x")); return err },
		"Open":         func(k string) error { _, err := s.Open(ctx, k); return err },
		"Fetch":        func(k string) error { return s.Fetch(ctx, k, "", scratch(t)) },
		"Stat":         func(k string) error { _, err := s.Stat(ctx, k); return err },
		"Copy from":    func(k string) error { _, err := s.Copy(ctx, k, "new", ""); return err },
		"Copy to":      func(k string) error { _, err := s.Copy(ctx, "good", k, ""); return err },
		"Delete":       func(k string) error { return s.Delete(ctx, k) },
		"FetchParts":   func(k string) error { _, _, err := s.FetchParts(ctx, k, scratch(t), nil); return err },
		"Prepare from": func(k string) error { _, err := s.Prepare(ctx, k, "new"); return err },
		"Prepare to":   func(k string) error { _, err := s.Prepare(ctx, "good", k); return err },
	}
	for _, key := range badKeys {
		for name, call := range methods {
			if err := call(key); !errors.Is(err, blob.ErrBadKey) {
				t.Errorf("%s with key %.20q = %v; want ErrBadKey", name, key, err)
			}
		}
	}
	if got := list(t, s, ""); len(got) != 1 {
		t.Errorf("the store holds %q; want only good", got)
	}
}

func badKeyAmongGood(t *testing.T, s blob.Store) {
	put(t, s, "good", "x")
	if err := s.Delete(t.Context(), "good", "../bad"); !errors.Is(err, blob.ErrBadKey) {
		t.Errorf("Delete = %v; want ErrBadKey", err)
	}
	wantContent(t, s, "good", "x")
}
