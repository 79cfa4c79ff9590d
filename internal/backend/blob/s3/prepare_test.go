package s3_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

func prepare(t *testing.T, s *s3.Store, from, to string) blob.Prepared {
	t.Helper()
	p, err := s.Prepare(t.Context(), from, to)
	if err != nil {
		t.Fatalf("Prepare(%q, %q) = %v", from, to, err)
	}
	return p
}

// What takes long is done before the copy is published, and seen by nobody.
func TestPreparedCopyIsUnseenUntilPublished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		size           int
		before, inside map[string]int // requests
	}{
		{"several parts", 2*part + 1, map[string]int{"head": 1, "begin": 1, "copy": 3}, map[string]int{"complete": 1}},
		{"a single part", part, map[string]int{"head": 1, "begin": 1, "copy": 1}, map[string]int{"complete": 1}},
		{"a small object", 1, map[string]int{"head": 1, "begin": 1, "copy": 1}, map[string]int{"complete": 1}},
		{"an empty object", 0, map[string]int{"head": 1}, map[string]int{"head": 1, "copy": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, p := behind(t, s3test.Start(t))
			s3.CopyInParts(s, 100*part, part)
			content := noise(tt.size)
			put(t, s, "source", content)
			p.reset()
			c := prepare(t, s, "source", "film.mp4")
			defer c.Discard()
			if diff := cmp.Diff(tt.before, p.counted()); diff != "" {
				t.Errorf("the requests before are not those wanted:\n%s", diff)
			}
			wantNoObject(t, s, "film.mp4")
			p.reset()
			info, err := c.Publish(t.Context())
			if err != nil {
				t.Fatalf("Publish = %v", err)
			}
			if diff := cmp.Diff(tt.inside, p.counted()); diff != "" {
				t.Errorf("the requests of Publish are not those wanted:\n%s", diff)
			}
			c.Discard() // does nothing any more
			wantSame(t, s, info, tt.size)
			wantObject(t, s, "film.mp4", content)
		})
	}
}

func TestPreparedCopyThatIsNotWantedLeavesNothing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, bucket := inBucket(t, server)
	s3.CopyInParts(s, 100*part, part)
	put(t, s, "source", noise(2*part))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, end := range map[string]func(blob.Prepared){
		"discarded": func(blob.Prepared) {},
		"published too late": func(c blob.Prepared) {
			if _, err := c.Publish(cancelled); !errors.Is(err, context.Canceled) {
				t.Errorf("Publish = %v; want it cancelled", err)
			}
		},
	} {
		c := prepare(t, s, "source", "film.mp4")
		if n := unfinished(t, server, bucket); n != 1 {
			t.Fatalf("%d uploads are unfinished; want the one that was prepared", n)
		}
		end(c)
		c.Discard()
		wantNoObject(t, s, "film.mp4")
		if n := unfinished(t, server, bucket); n != 0 {
			t.Errorf("%s: %d unfinished uploads are left", name, n)
		}
	}
	if _, err := s.Prepare(t.Context(), "none", "film.mp4"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Prepare of a missing object = %v; want fs.ErrNotExist", err)
	}
	if _, err := s.Prepare(t.Context(), "source", "../film.mp4"); !errors.Is(err, blob.ErrBadKey) {
		t.Errorf("Prepare with a bad key = %v; want ErrBadKey", err)
	}
}

// An object that is replaced while it is copied is copied again.
func TestPreparedCopyIsOfOneVersion(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	p := newProxy(t, server)
	s := open(t, server, through(p, server.URL(bucket, "spool"), server))
	s3.CopyInParts(s, 100*part, part)
	put(t, s, "source", noise(2*part))
	newer := noise(2*part + 1)
	p.spoilWith(func(op string, n int) spoiler {
		if op == "begin" && n == 1 { // the size and the ETag of the source are known by now
			put(t, open(t, server, server.URL(bucket, "spool")), "source", newer)
		}
		return nil
	})
	c := prepare(t, s, "source", "film.mp4")
	defer c.Discard()
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatalf("Publish = %v", err)
	}
	wantObject(t, s, "film.mp4", newer)
	if n := unfinished(t, server, bucket); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

// A server that cannot copy parts copies the object as a whole.
func TestPreparedCopyWhereNoPartsAreCopied(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	p := newProxy(t, server)
	s := open(t, server, through(p, server.URL(bucket, "spool"), server))
	content := noise(part)
	put(t, s, "source", content)
	p.spoilWith(func(op string, n int) spoiler {
		if op == "copy" && n == 1 {
			return answer(http.StatusNotImplemented, "NotImplemented")
		}
		return nil
	})
	c := prepare(t, s, "source", "film.mp4")
	defer c.Discard()
	wantNoObject(t, s, "film.mp4")
	if n := unfinished(t, server, bucket); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatalf("Publish = %v", err)
	}
	wantObject(t, s, "film.mp4", content)
}
