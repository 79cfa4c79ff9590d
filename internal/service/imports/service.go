package imports

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	Max int // how many files this process fetches at a time; 0: imports are off
	Timing
}

// Forever is until when a video waits for a file that is being fetched: what ends the wait is the end of the import.
var Forever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Outcome is what became of an import.
type Outcome string

const (
	OutcomeCompleted Outcome = "completed"
	OutcomeRetry     Outcome = "retry"  // a try broke off, and another one follows
	OutcomeWaiting   Outcome = "wait"   // trouble of our own, or another tenant got the place
	OutcomeFailed    Outcome = "failed" // for good
)

// Outcomes lists all of them.
var Outcomes = []Outcome{OutcomeCompleted, OutcomeRetry, OutcomeWaiting, OutcomeFailed}

// Storage stores files part by part, so that any process can continue one.
type Storage interface {
	// Open returns what is stored of a file; nil if that is nothing.
	Open(ctx context.Context, r uploads.Resumable, l uploads.Lease) (Partial, error)
	// Create begins a file of size bytes, or of an unknown size if that is negative.
	Create(ctx context.Context, r uploads.Resumable, l uploads.Lease, size int64) (Partial, error)
}

// Partial is a file of which some bytes are stored.
type Partial interface {
	Stored() int64 // how many
	Size() int64   // of the whole file; -1: not known yet
	// Append stores what src yields, which is expected to be length bytes; -1: not known. A src that
	// breaks off must end: what came before an error might be lost.
	Append(ctx context.Context, src io.Reader, length int64) error
	// Finish puts the file in place. All of its bytes are stored.
	Finish(ctx context.Context) error
}

// Parts are what a Service is made of.
type Parts struct {
	Store    *store.Store
	Queue    queue.Queue
	Guard    *outbound.Guard
	Uploads  *uploads.Service
	Leases   *uploads.Leases
	Now      func() time.Time
	Log      *slog.Logger
	Started  func()                             // called when the fetch of a file begins
	Ended    func(Outcome)                      // called when it ends
	Finished func(video.Status, *video.Failure) // called for each video whose import failed
}

// Service fetches files.
type Service struct {
	config   Config
	store    *store.Store
	queue    queue.Queue
	guard    *outbound.Guard
	client   *outbound.Client
	uploads  *uploads.Service
	leases   *uploads.Leases
	now      func() time.Time
	log      *slog.Logger
	started  func()
	ended    func(Outcome)
	finished func(video.Status, *video.Failure)
}

// maxRedirects is how many redirects are followed, each of them checked.
const maxRedirects = 5

// New returns a Service. It fetches when the queue calls its Handler.
func New(c Config, p Parts) *Service {
	c.Timing = c.Timing.withDefaults()
	return &Service{
		client: outbound.NewClient(p.Guard, outbound.Options{Redirects: maxRedirects}),
		config: c, store: p.Store, queue: p.Queue, guard: p.Guard, uploads: p.Uploads, leases: p.Leases,
		now: p.Now, log: p.Log, started: p.Started, ended: p.Ended, finished: p.Finished,
	}
}

// Check returns an error for an address that nothing is fetched from. It does not ask DNS: where a
// name leads is judged when it is connected to.
func (s *Service) Check(address string) error {
	if s == nil || s.config.Max == 0 {
		return notAllowed("This server fetches no files: import by URL is turned off.")
	}
	if _, err := s.guard.CheckURL(address); err != nil {
		return notAllowed(err.Error())
	}
	return nil
}

func notAllowed(why string) error {
	return &video.Error{Kind: video.Invalid, Code: "address_not_allowed", Msg: why,
		Faults: []video.Fault{{Field: "sourceUrl", Code: "address_not_allowed", Message: why}}}
}

// Insert has the file of a new video fetched, in the transaction that creates it.
func (s *Service) Insert(ctx context.Context, tx *store.Tx, v video.Video, address string) error {
	if err := insertRow(ctx, tx, v.ID, address); err != nil {
		return err
	}
	return s.enqueue(ctx, tx, v)
}

func (s *Service) enqueue(ctx context.Context, tx *store.Tx, v video.Video) error {
	return s.queue.Enqueue(ctx, tx, queue.Task{Kind: queue.Import, Video: v.ID, Tenant: v.Tenant})
}

// Retry has a file that could not be fetched tried again. An import that goes on anyway is left alone.
func (s *Service) Retry(ctx context.Context, by auth.Actor, id video.ID) error {
	v, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id)
	if err == nil {
		if hidden, found, failed := s.store.ReplacementOf(ctx, id); found || failed != nil {
			v, err = hidden, failed
		}
	}
	switch {
	case err != nil:
		return err
	case !v.Imported:
		return &video.Error{Kind: video.Conflict, Code: "not_an_import", Msg: "This video was created without a sourceUrl: upload its file, or create another video."}
	case !v.CompletedAt.IsZero():
		return &video.Error{Kind: video.Conflict, Code: "upload_closed", Msg: "The file of this video was fetched and accepted already; create a new video for another file."}
	case s.config.Max == 0:
		return notAllowed("This server fetches no files: import by URL is turned off.")
	}
	now := s.now()
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		restarted, err := restart(ctx, tx, v.ID)
		if err != nil || !restarted {
			return err
		}
		if err := s.enqueue(ctx, tx, v); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionVideoImport, Video: id}); err != nil {
			return err
		}
		usage, err := tenants.UsageOf(ctx, tx.Queries, v.Tenant, now)
		if err != nil {
			return err
		}
		return usage.CheckCreate()
	})
}
