package blob_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

var errRaw = errors.New("the disk is on fire")

// failing is a raw store in which everything fails, and which counts the calls.
type failing struct {
	calls *int
	keys  []string // what List and AbortUnfinished come across
}

func (f failing) fail() error {
	*f.calls++
	return errRaw
}

func (f failing) Put(context.Context, string, io.Reader) (blob.Info, error) {
	return blob.Info{}, f.fail()
}

func (f failing) PutFile(context.Context, string, string) (blob.Info, error) {
	return blob.Info{}, f.fail()
}
func (f failing) Open(context.Context, string) (blob.Object, error)             { return nil, f.fail() }
func (f failing) Fetch(context.Context, string, string, string) error           { return f.fail() }
func (f failing) Stat(context.Context, string) (blob.Info, error)               { return blob.Info{}, f.fail() }
func (f failing) Prepare(_ context.Context, a, b string) (blob.Prepared, error) { return f, nil }
func (f failing) Publish(context.Context) (blob.Info, error)                    { return blob.Info{}, f.fail() }
func (f failing) Discard()                                                      {}
func (f failing) Delete(context.Context, ...string) error                       { return f.fail() }
func (f failing) Ping(context.Context) error                                    { return f.fail() }
func (f failing) Capabilities() blob.Capabilities                               { return blob.Capabilities{Presign: f} }
func (f failing) Origin(context.Context) (string, error)                        { return "", f.fail() }

func (f failing) FetchParts(context.Context, string, string, []blob.Range) (blob.Info, bool, error) {
	return blob.Info{}, false, f.fail()
}

func (f failing) Copy(context.Context, string, string, string) (blob.Info, error) {
	return blob.Info{}, f.fail()
}

func (f failing) PresignPut(context.Context, string, string, time.Duration) (string, error) {
	return "", f.fail()
}

func (f failing) PresignGet(context.Context, string, time.Duration, string) (string, error) {
	return "", f.fail()
}

func (f failing) List(context.Context, string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for _, key := range f.keys {
			if !yield(blob.Info{Key: key}, nil) {
				return
			}
		}
		yield(blob.Info{}, f.fail())
	}
}

func (f failing) AbortUnfinished(_ context.Context, _ string, drop func(string, time.Time) (bool, error)) (int, error) {
	n := 0
	for _, key := range f.keys {
		if gone, err := drop(key, time.Time{}); err != nil {
			return n, err
		} else if gone {
			n++
		}
	}
	return n, f.fail()
}

// operations are all that take a key.
func operations(ctx context.Context, s blob.Store) map[string]func(key string) error {
	sign := s.Capabilities().Presign
	return map[string]func(string) error{
		"Put":        func(k string) error { _, err := s.Put(ctx, k, strings.NewReader("x")); return err },
		"PutFile":    func(k string) error { _, err := s.PutFile(ctx, k, "file"); return err },
		"Open":       func(k string) error { _, err := s.Open(ctx, k); return err },
		"Fetch":      func(k string) error { return s.Fetch(ctx, k, "", "file") },
		"FetchParts": func(k string) error { _, _, err := s.FetchParts(ctx, k, "file", nil); return err },
		"Stat":       func(k string) error { _, err := s.Stat(ctx, k); return err },
		"Copy from":  func(k string) error { _, err := s.Copy(ctx, k, "to", ""); return err },
		"Copy to":    func(k string) error { _, err := s.Copy(ctx, "from", k, ""); return err },
		"Publish": func(k string) error {
			p, err := s.Prepare(ctx, "from", k)
			if err != nil {
				return err
			}
			_, err = p.Publish(ctx)
			return err
		},
		"PresignPut": func(k string) error { _, err := sign.PresignPut(ctx, k, "video/mp4", time.Hour); return err },
		"PresignGet": func(k string) error { _, err := sign.PresignGet(ctx, k, time.Hour, ""); return err },
	}
}

func TestCheckedRefusesBadKeysAndNamesTheObject(t *testing.T) {
	t.Parallel()
	calls := 0
	s := blob.NewChecked(failing{calls: &calls})
	for name, call := range operations(t.Context(), s) {
		if err := call("a/../b"); !errors.Is(err, blob.ErrBadKey) || calls != 0 {
			t.Errorf("%s with a bad key = %v after %d calls; want ErrBadKey and no call", name, err, calls)
		}
		if err := call("a/good.mp4"); !errors.Is(err, errRaw) || !strings.Contains(err.Error(), "a/good.mp4") {
			t.Errorf("%s = %v; want the back end's error and the key", name, err)
		}
		calls = 0
	}
	if err := s.Delete(t.Context(), "good", "../bad"); !errors.Is(err, blob.ErrBadKey) || calls != 0 {
		t.Errorf("Delete with a bad key = %v after %d calls; want ErrBadKey and no call", err, calls)
	}
}

func TestCheckedPassesOverNamesThatAreNotKeys(t *testing.T) {
	t.Parallel()
	names := []string{"a/1", "a/folder/", "b/2", ".hidden", "a/3"}
	s := blob.NewChecked(failing{new(int), names})
	var listed, asked []string
	for info, err := range s.List(t.Context(), "") {
		if err == nil {
			listed = append(listed, info.Key)
		} else if !errors.Is(err, errRaw) {
			t.Errorf("List = %v", err)
		}
	}
	if want := []string{"a/1", "b/2", "a/3"}; !slices.Equal(listed, want) {
		t.Errorf("List yields %q; want %q", listed, want)
	}
	n, err := s.AbortUnfinished(t.Context(), "a/", func(key string, _ time.Time) (bool, error) {
		asked = append(asked, key)
		return true, nil
	})
	if want := []string{"a/1", "a/3"}; !slices.Equal(asked, want) || n != 2 || !errors.Is(err, errRaw) {
		t.Errorf("AbortUnfinished asks about %q, removes %d, %v; want %q", asked, n, err, want)
	}
}

// opening is a raw store that opens one object.
type opening struct {
	failing
	object blob.Object
}

func (o opening) Open(context.Context, string) (blob.Object, error) { return o.object, nil }

// The checks are on the path of every request of a player.
func TestCheckedCostsNoMemory(t *testing.T) {
	object := new(struct{ blob.Object })
	var s blob.Store = blob.NewChecked(opening{failing{calls: new(int)}, object})
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		if o, err := s.Open(ctx, "public/0195-ab/720p.mp4"); err != nil || o != object {
			t.Fatalf("Open = %v, %v; want the back end's own object", o, err)
		}
		_ = s.Capabilities()
	})
	if n != 0 {
		t.Errorf("Open through the checks allocates %v times", n)
	}
}

func TestJoinErrorsNamesAFew(t *testing.T) {
	t.Parallel()
	if err := blob.JoinErrors(nil); err != nil {
		t.Errorf("JoinErrors of nothing = %v", err)
	}
	many := slices.Repeat([]error{errRaw}, 100)
	err := blob.JoinErrors(many)
	if n := strings.Count(err.Error(), errRaw.Error()); n != 5 || !strings.Contains(err.Error(), "and 95 more") || !errors.Is(err, errRaw) {
		t.Errorf("JoinErrors of 100 = %v", err)
	}
}
