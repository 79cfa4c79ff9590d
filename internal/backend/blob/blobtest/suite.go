// Package blobtest is the conformance suite of package blob: what the comments
// there promise, as tests. A back end joins it with one call of Run.
package blobtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

// Opener returns a new, empty store, and sees to its end when t ends.
type Opener func(t *testing.T) blob.Store

// Run checks that the stores that open returns keep the contract of blob.Store.
// Cases run in parallel, each with a store of its own.
func Run(t *testing.T, open Opener) {
	for _, cases := range [][]testCase{
		putCases, putFileCases, readCases, fetchCases, copyCases, prepareCases,
		deleteCases, listCases, abortCases, keyCases, concurrencyCases, capabilityCases, pingCases,
	} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.test(t, open(t))
			})
		}
	}
}

// testCase is one promise of the contract.
type testCase struct {
	name string
	test func(t *testing.T, s blob.Store)
}

// put stores content under key.
func put(t *testing.T, s blob.Store, key, content string) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, strings.NewReader(content))
	if err != nil {
		t.Fatalf("Put(%q) = %v", key, err)
	}
	return info
}

// wantContent fails the test unless key holds exactly want, and Stat agrees.
func wantContent(t *testing.T, s blob.Store, key, want string) {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Errorf("Open(%q) = %v; want %s", key, err, abridge(want))
		return
	}
	defer o.Close()
	got, err := io.ReadAll(o)
	if err != nil || string(got) != want {
		t.Errorf("object %q reads %s, %v; want %s", key, abridge(string(got)), err, abridge(want))
	}
	wantStat(t, s, o.Info(), key, int64(len(want)))
}

// wantStat fails the test unless info describes key as Stat does. Times are not
// compared: S3 rounds them differently in different answers.
func wantStat(t *testing.T, s blob.Store, info blob.Info, key string, size int64) {
	t.Helper()
	got := stat(t, s, key)
	if info.Key != key || info.Size != size || got.Key != key || got.Size != size || info.ETag != got.ETag {
		t.Errorf("the description of %q is %+v, and Stat says %+v; want the same, and %d bytes", key, info, got, size)
	}
}

func stat(t *testing.T, s blob.Store, key string) blob.Info {
	t.Helper()
	info, err := s.Stat(t.Context(), key)
	if err != nil {
		t.Fatalf("Stat(%q) = %v", key, err)
	}
	return info
}

// wantMissing fails the test if there is an object at key, or a trace of one.
func wantMissing(t *testing.T, s blob.Store, key string) {
	t.Helper()
	if info, err := s.Stat(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(%q) = %+v, %v; want fs.ErrNotExist", key, info, err)
	}
	if slices.Contains(list(t, s, ""), key) {
		t.Errorf("List still yields %q", key)
	}
}

// list returns the keys with prefix, sorted.
func list(t *testing.T, s blob.Store, prefix string) []string {
	t.Helper()
	keys := []string{}
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("List(%q) = %v", prefix, err)
		}
		keys = append(keys, info.Key)
	}
	slices.Sort(keys)
	return keys
}

// scratch returns the path of a local file that does not exist.
func scratch(t *testing.T) string {
	return filepath.Join(t.TempDir(), "file")
}

// noise returns n bytes that differ for each seed. They do not repeat, so that
// a piece in the wrong place shows.
func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return string(b[:n])
}

// abridge keeps a megabyte of noise out of a failure's message.
func abridge(s string) string {
	if len(s) <= 40 {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:16], len(s))
}
