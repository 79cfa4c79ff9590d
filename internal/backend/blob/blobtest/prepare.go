package blobtest

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

var prepareCases = []testCase{
	{"a prepared copy appears when it is published", preparePublishes},
	{"a prepared copy that is discarded never appears", prepareDiscards},
	{"a prepared copy that is published too late never appears", prepareCancelled},
	{"Prepare of a missing object is fs.ErrNotExist", prepareMissing},
}

var abortCases = []testCase{
	{"AbortUnfinished leaves finished objects alone", abortFinished},
}

func preparePublishes(t *testing.T, s blob.Store) {
	for _, content := range []string{"", "x", noise(1, 300_000)} {
		put(t, s, "staged/film", content)
		if err := s.Delete(t.Context(), "public/film.mp4"); err != nil {
			t.Fatal(err)
		}
		p, err := s.Prepare(t.Context(), "staged/film", "public/film.mp4")
		if err != nil {
			t.Fatalf("Prepare = %v", err)
		}
		wantMissing(t, s, "public/film.mp4")
		info, err := p.Publish(t.Context())
		if err != nil {
			t.Fatalf("Publish = %v", err)
		}
		p.Discard() // does nothing any more
		wantStat(t, s, info, "public/film.mp4", int64(len(content)))
		wantContent(t, s, "public/film.mp4", content)
		wantContent(t, s, "staged/film", content)
	}
}

func prepareDiscards(t *testing.T, s blob.Store) {
	put(t, s, "staged/film", "x")
	p, err := s.Prepare(t.Context(), "staged/film", "public/film.mp4")
	if err != nil {
		t.Fatalf("Prepare = %v", err)
	}
	p.Discard()
	wantMissing(t, s, "public/film.mp4")
	wantContent(t, s, "staged/film", "x")
}

func prepareCancelled(t *testing.T, s blob.Store) {
	put(t, s, "staged/film", "x")
	p, err := s.Prepare(t.Context(), "staged/film", "public/film.mp4")
	if err != nil {
		t.Fatalf("Prepare = %v", err)
	}
	defer p.Discard()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Publish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Publish = %v; want context.Canceled", err)
	}
	wantMissing(t, s, "public/film.mp4")
}

func prepareMissing(t *testing.T, s blob.Store) {
	put(t, s, "folder/key", "x")
	for _, from := range absent {
		if _, err := s.Prepare(t.Context(), from, "to"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Prepare(%q) = %v; want fs.ErrNotExist", from, err)
		}
	}
	wantMissing(t, s, "to")
}

func abortFinished(t *testing.T, s blob.Store) {
	put(t, s, "a/1", "x")
	all := func(string, time.Time) (bool, error) { return true, nil }
	if n, err := s.AbortUnfinished(t.Context(), "", all); err != nil || n != 0 {
		t.Errorf("AbortUnfinished = %d, %v; want nothing to abort", n, err)
	}
	wantContent(t, s, "a/1", "x")
}
