package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// everything uses each operation of a store once, with objects in parts.
func everything(t *testing.T, s *s3.Store) {
	t.Helper()
	ctx, small, large := t.Context(), noise(1000), noise(part+1)
	put(t, s, "small", small)
	put(t, s, "large", large)
	s3.PutFilesInParts(s, part)
	info, err := s.PutFile(ctx, "file", localFile(t, noise(part+2)))
	if err != nil {
		t.Errorf("PutFile = %v", err)
	}
	wantSame(t, s, info, part+2)
	if _, err := s.Copy(ctx, "large", "copy", ""); err != nil {
		t.Errorf("Copy = %v", err)
	}
	wantObject(t, s, "copy", large)
	o := openObject(t, s, "large")
	wantRest(t, struct{ io.Reader }{o}, large, 64<<10)
	if err := lastError(ctx, s); err != nil {
		t.Errorf("List = %v", err)
	}
	if err := s.Delete(ctx, "small"); err != nil {
		t.Errorf("Delete = %v", err)
	}
	wantNoObject(t, s, "small")
}

// The first try of each request fails.
func TestPassingFaultsAreNotSeen(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for name, spoil := range map[string]spoiler{
		"it is answered with 500":           answer(http.StatusInternalServerError, "InternalError"),
		"it is asked to slow down":          answer(http.StatusServiceUnavailable, "SlowDown"),
		"it breaks before the answer":       hangUp(0),
		"it breaks while it is sent":        hangUp(100_000),
		"its answer is lost":                s3test.Swallow,
		"its answer breaks after 100 bytes": cut(100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := behind(t, server)
			spoil = everyOther(spoil)
			p.spoilWith(func(string, int) spoiler { return spoil })
			everything(t, s)
		})
	}
}

// everyOther spoils a request when it is made for the first time, the third, and
// so on.
func everyOther(spoil spoiler) spoiler {
	var mu sync.Mutex
	tries := make(map[string]int)
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		id := r.Method + r.URL.String()
		tries[id]++
		odd := tries[id]%2 == 1
		mu.Unlock()
		if odd {
			spoil(w, r, next)
		} else {
			next.ServeHTTP(w, r)
		}
	}
}

func TestFetchGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	content := noise(20 * mib)
	put(t, s, "key", content)
	p.spoilWith(always("get", cut(3*mib)))
	path := filepath.Join(t.TempDir(), "file")
	if err := s.Fetch(t.Context(), "key", "", path); err != nil {
		t.Fatalf("Fetch = %v", err)
	}
	wantFile(t, path, content)
	if n := p.counted()["get"]; n != 7 {
		t.Errorf("20 MiB in pieces of 3 MiB took %d requests; want 7", n)
	}
}

// A download that fails leaves no file, least of all a short one.
func TestFetchThatFailsLeavesNoFile(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	ended, cancel := context.WithCancel(t.Context())
	for name, tt := range map[string]struct {
		ctx   context.Context
		spoil func(op string, n int) spoiler
		want  error
	}{
		"it always breaks at the same place": {t.Context(), resumedWith(cut(0)), nil},
		"the server has only errors":         {t.Context(), always("get", answer(http.StatusInternalServerError, "InternalError")), nil},
		"the context ends in the middle": {ended, func(string, int) spoiler {
			return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				cut(part)(&cancelling{w, cancel}, r, next)
			}
		}, context.Canceled},
		"the object is deleted meanwhile":    {t.Context(), resumedWith(answer(http.StatusNotFound, "NoSuchKey")), fs.ErrNotExist},
		"the object is replaced meanwhile":   {t.Context(), resumedWith(answer(http.StatusPreconditionFailed, "PreconditionFailed")), blob.ErrChanged},
		"the server passes over the version": {t.Context(), resumedWith(forge(206, "bytes 5242880-10485759/10485760", "another", part)), blob.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := behind(t, server)
			put(t, s, "key", noise(2*part))
			p.spoilWith(tt.spoil)
			path := filepath.Join(t.TempDir(), "file")
			if err := s.Fetch(tt.ctx, "key", "", path); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Fetch = %v; want an error, and %v", err, tt.want)
			}
			wantNoFile(t, path)
		})
	}
}

// resumedWith breaks a download after one part, and spoils what follows.
func resumedWith(spoil spoiler) func(string, int) spoiler {
	return func(_ string, n int) spoiler {
		if n == 1 {
			return cut(part)
		}
		return spoil
	}
}

// cancelling ends somebody's context when the answer begins.
type cancelling struct {
	http.ResponseWriter
	cancel func()
}

func (c *cancelling) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return c.ResponseWriter.Write(p)
}

func TestAnswerWithOtherBytesThanAskedForIsNotTaken(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	content := noise(2 * part)
	info := put(t, s, "key", content)
	p.spoilWith(func(_ string, n int) spoiler {
		switch n {
		case 1:
			return cut(part)
		case 2:
			return forge(206, "bytes 5242880-10485759/10485760", info.ETag, 0)
		}
		return nil
	})
	wantObject(t, s, "key", content)

	p.spoilWith(resumedWith(forge(200, "", info.ETag, 2*part))) // all of it, from the start again
	path := filepath.Join(t.TempDir(), "file")
	if err := s.Fetch(t.Context(), "key", "", path); err == nil {
		t.Error("Fetch took other bytes than it asked for")
	}
	wantNoFile(t, path)
}

func TestFetchOfAnObjectThatIsReallyReplacedNeverMixes(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	p := newProxy(t, server)
	s := open(t, server, through(p, server.URL(bucket, "spool"), server))
	put(t, s, "key", noise(2*part))
	p.spoilWith(func(op string, n int) spoiler {
		if n == 1 {
			return cut(part)
		}
		put(t, open(t, server, server.URL(bucket, "spool")), "key", bytes.Repeat([]byte("x"), 2*part))
		return nil
	})
	path := filepath.Join(t.TempDir(), "file")
	if err := s.Fetch(t.Context(), "key", "", path); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("Fetch = %v; want ErrChanged", err)
	}
	wantNoFile(t, path)
}

func TestWriteThatFailsLeavesTheOldObject(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for name, spoil := range map[string]func(string, int) spoiler{
		"a part is refused": func(op string, n int) spoiler {
			if op == "part" && n > 1 {
				return answer(http.StatusInternalServerError, "InternalError")
			}
			return nil
		},
		"the connection breaks in every part": always("part", hangUp(mib)),
		"completing is refused":               always("complete", answer(http.StatusForbidden, "AccessDenied")),
		"beginning is refused":                always("begin", answer(http.StatusForbidden, "AccessDenied")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := server.Bucket(t)
			p := newProxy(t, server)
			s := open(t, server, through(p, server.URL(bucket, "spool"), server))
			s3.PutFilesInParts(s, part)
			put(t, s, "key", []byte("the old one"))
			p.spoilWith(spoil)
			large := noise(2*part + 1)
			if _, err := s.Put(t.Context(), "key", bytes.NewReader(large)); err == nil {
				t.Error("Put succeeded")
			}
			path := localFile(t, large)
			if _, err := s.PutFile(t.Context(), "key", path); err == nil {
				t.Error("PutFile succeeded")
			}
			wantFile(t, path, large)
			wantObject(t, s, "key", []byte("the old one"))
			if n := unfinished(t, server, bucket); n != 0 {
				t.Errorf("%d unfinished uploads are left", n)
			}
		})
	}
}

func TestAnswerThatNeverComesIsAskedForAgain(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, op := range []string{"put", "get", "head", "part", "list", "delete"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, server)
			opts := quick(server)
			opts.IdleTimeout = 500 * time.Millisecond
			if server.Program == "minio" { // syncs what it stores, which takes long on a busy disk
				opts.IdleTimeout = 10 * time.Second
			}
			s, err := s3.Open(t.Context(), through(p, server.URL(server.Bucket(t), ""), server), opts)
			if err != nil {
				t.Fatal(err)
			}
			p.spoilWith(first(op, 1, hang))
			everything(t, s)
		})
	}
}

// A server that answers slowly, but answers, is waited for: each pause is
// shorter than the idle timeout of the store, all together are longer.
func TestSlowAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	p := newProxy(t, server)
	opts := quick(server)
	opts.IdleTimeout = time.Second
	s, err := s3.Open(t.Context(), through(p, server.URL(server.Bucket(t), ""), server), opts)
	if err != nil {
		t.Fatal(err)
	}
	content := noise(mib)
	put(t, s, "key", content)
	p.spoilWith(always("get", trickle(60*time.Millisecond)))
	start := time.Now()
	wantObject(t, s, "key", content)
	if took := time.Since(start); took < opts.IdleTimeout {
		t.Errorf("the download took only %s; nothing was slow", took)
	}
	if n := p.counted()["get"]; n != 1 {
		t.Errorf("the download took %d requests; want 1", n)
	}
}

func TestServerThatIsGoneIsAnErrorAndNotAMissingObject(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	put(t, s, "key", noise(1000))
	p.CloseClientConnections()
	p.Close()
	_, errPut := s.Put(t.Context(), "key", bytes.NewReader(noise(10)))
	_, errStat := s.Stat(t.Context(), "key")
	_, errOpen := s.Open(t.Context(), "key")
	_, errCopy := s.Copy(t.Context(), "key", "to", "")
	for name, err := range map[string]error{
		"Put": errPut, "Stat": errStat, "Open": errOpen, "Copy": errCopy,
		"Delete": s.Delete(t.Context(), "key"), "List": lastError(t.Context(), s), "Ping": s.Ping(t.Context()),
	} {
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrChanged) {
			t.Errorf("%s = %v; want an error that says nothing about the object", name, err)
		}
	}
}
