package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Checked is a Store that does for every back end what is the same in all of them: it refuses bad
// keys before the back end sees them, and adds to each error what was done to which object. Back
// ends embed it in their exported type and keep their own implementation unexported, so that no
// caller can reach it without the checks.
type Checked struct {
	raw Store
	can Capabilities
}

var _ Store = Checked{}

// NewChecked returns the checked form of raw, whose methods are only called with good keys and need
// not name the object in their errors.
func NewChecked(raw Store) Checked {
	c := Checked{raw: raw, can: raw.Capabilities()}
	if c.can.Presign != nil {
		c.can.Presign = checkedPresigner{c.can.Presign}
	}
	return c
}

// Put implements Store.
func (c Checked) Put(ctx context.Context, key string, r io.Reader) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	info, err := c.raw.Put(ctx, key, r)
	if err != nil {
		return Info{}, fmt.Errorf("put object %s: %w", key, err)
	}
	return info, nil
}

// PutFile implements Store.
func (c Checked) PutFile(ctx context.Context, key, path string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	info, err := c.raw.PutFile(ctx, key, path)
	if err != nil {
		return Info{}, fmt.Errorf("put file as object %s: %w", key, err)
	}
	return info, nil
}

// Open implements Store. The object is the back end's own: reading it costs nothing more.
func (c Checked) Open(ctx context.Context, key string) (Object, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	o, err := c.raw.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	return o, nil
}

// Fetch implements Store.
func (c Checked) Fetch(ctx context.Context, key, etag, path string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := c.raw.Fetch(ctx, key, etag, path); err != nil {
		return fmt.Errorf("fetch object %s: %w", key, err)
	}
	return nil
}

// FetchParts implements Store.
func (c Checked) FetchParts(ctx context.Context, key, path string, ranges []Range) (info Info, sparse bool, err error) {
	if err := CheckKey(key); err != nil {
		return Info{}, false, err
	}
	info, sparse, err = c.raw.FetchParts(ctx, key, path, ranges)
	if err != nil {
		return Info{}, false, fmt.Errorf("fetch parts of object %s: %w", key, err)
	}
	return info, sparse, nil
}

// Stat implements Store.
func (c Checked) Stat(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	info, err := c.raw.Stat(ctx, key)
	if err != nil {
		return Info{}, fmt.Errorf("stat object %s: %w", key, err)
	}
	return info, nil
}

// Copy implements Store.
func (c Checked) Copy(ctx context.Context, from, to, etag string) (Info, error) {
	if err := errors.Join(CheckKey(from), CheckKey(to)); err != nil {
		return Info{}, err
	}
	info, err := c.raw.Copy(ctx, from, to, etag)
	if err != nil {
		return Info{}, fmt.Errorf("copy object %s to %s: %w", from, to, err)
	}
	return info, nil
}

// Prepare implements Store.
func (c Checked) Prepare(ctx context.Context, from, to string) (Prepared, error) {
	if err := errors.Join(CheckKey(from), CheckKey(to)); err != nil {
		return nil, err
	}
	p, err := c.raw.Prepare(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("prepare to copy object %s to %s: %w", from, to, err)
	}
	return checkedCopy{p, from, to}, nil
}

// checkedCopy names the objects when publishing fails.
type checkedCopy struct {
	Prepared
	from, to string
}

func (c checkedCopy) Publish(ctx context.Context) (Info, error) {
	info, err := c.Prepared.Publish(ctx)
	if err != nil {
		return Info{}, fmt.Errorf("publish the copy of object %s at %s: %w", c.from, c.to, err)
	}
	return info, nil
}

// Delete implements Store. One bad key means that nothing is removed.
func (c Checked) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	if err := c.raw.Delete(ctx, keys...); err != nil {
		return fmt.Errorf("delete objects: %w", err)
	}
	return nil
}

// List implements Store. Names in the storage that are not keys are passed over: they are not ours.
func (c Checked) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if !startsKeys(prefix) {
			return
		}
		for info, err := range c.raw.List(ctx, prefix) {
			if err != nil {
				yield(Info{}, fmt.Errorf("list objects %q: %w", prefix, err))
				return
			}
			if CheckKey(info.Key) == nil && !yield(info, nil) {
				return
			}
		}
	}
}

// AbortUnfinished implements Store. drop is asked about good keys with the prefix only.
func (c Checked) AbortUnfinished(ctx context.Context, prefix string, drop func(key string, begun time.Time) (bool, error)) (int, error) {
	if !startsKeys(prefix) {
		return 0, nil
	}
	n, err := c.raw.AbortUnfinished(ctx, prefix, func(key string, begun time.Time) (bool, error) {
		if CheckKey(key) != nil || !strings.HasPrefix(key, prefix) {
			return false, nil
		}
		return drop(key, begun)
	})
	if err != nil {
		return n, fmt.Errorf("abort unfinished objects %q: %w", prefix, err)
	}
	return n, nil
}

// Ping implements Store.
func (c Checked) Ping(ctx context.Context) error { return c.raw.Ping(ctx) }

// Capabilities implements Store.
func (c Checked) Capabilities() Capabilities { return c.can }

// checkedPresigner does for signed URLs what Checked does for objects.
type checkedPresigner struct{ raw Presigner }

func (p checkedPresigner) PresignPut(ctx context.Context, key, contentType string, ttl time.Duration) (string, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	url, err := p.raw.PresignPut(ctx, key, contentType, ttl)
	if err != nil {
		return "", fmt.Errorf("presign upload of %s: %w", key, err)
	}
	return url, nil
}

func (p checkedPresigner) PresignGet(ctx context.Context, key string, ttl time.Duration, disposition string) (string, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	url, err := p.raw.PresignGet(ctx, key, ttl, disposition)
	if err != nil {
		return "", fmt.Errorf("presign download of %s: %w", key, err)
	}
	return url, nil
}

func (p checkedPresigner) Origin(ctx context.Context) (string, error) { return p.raw.Origin(ctx) }
