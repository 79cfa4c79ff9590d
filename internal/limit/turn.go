package limit

import (
	"context"
	"sync"

	"github.com/spool-video/spool/internal/video"
)

// Turn is what one request holds of its principal's shares. Errors of its methods are answers for the
// client. A nil Turn has no limits.
type Turn struct {
	limits *Limits
	by     Principal

	mu   sync.Mutex
	work func()   // releases the place for computing; nil: none is held
	held []func() // release the rest
}

type turnKey struct{}

// Begin returns the turn of a request, and a context that has it. The caller must end it when the answer is
// written.
func (l *Limits) Begin(ctx context.Context, by Principal) (context.Context, *Turn) {
	t := &Turn{limits: l, by: by}
	return context.WithValue(ctx, turnKey{}, t), t
}

// TurnOf returns the turn that ctx has, or nil.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Work waits for a place for costly computing, which the request keeps until EndWork. It needs only one.
func (t *Turn) Work(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.work != nil {
		return nil
	}
	pool := t.limits.work
	if t.by.Tenant == "" {
		pool = t.limits.clientWork
	}
	release, err := acquire(ctx, func(ctx context.Context) (func(), error) { return pool.Acquire(ctx, t.by, 1) })
	t.work = release
	return err
}

// EndWork releases the place for computing, if the request has one.
func (t *Turn) EndWork() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.work != nil {
		t.work()
		t.work = nil
	}
}

// Memory waits until the request may keep n more bytes in memory, which it does until End. A request that
// has a place for computing keeps it while it waits, so that no more is made than can be kept.
func (t *Turn) Memory(ctx context.Context, n int64) error {
	if t == nil {
		return nil
	}
	return t.hold(acquire(ctx, func(ctx context.Context) (func(), error) {
		if t.by.Tenant == "" {
			return t.limits.clientMemory.Acquire(ctx, t.by, n)
		}
		return t.limits.memory.Acquire(ctx, t.by, min(n, tenantMemory))
	}))
}

// File waits until the client may open one more file, which it does until End.
func (t *Turn) File(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.hold(acquire(ctx, func(ctx context.Context) (func(), error) { return t.limits.files.Acquire(ctx, t.by, 1) }))
}

// Picture waits for a place for making a picture, and returns what releases it. These places are apart from those for
// computing: a flood of pictures delays nothing but pictures.
func (t *Turn) Picture(ctx context.Context) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, picturePatience)
	defer cancel()
	if release, err = t.limits.pictures.Acquire(ctx, t.by, 1); err != nil {
		return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: Patience, Err: err,
			Msg: "Too many new pictures are being made. Try again later."}
	}
	return release, nil
}

func (t *Turn) hold(release func(), err error) error {
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = append(t.held, release)
	return nil
}

// End releases all that the request holds.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.EndWork()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, release := range t.held {
		release()
	}
	t.held = nil
}
