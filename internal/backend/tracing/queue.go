package tracing

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/spool-video/spool/internal/backend/queue"
)

// Queue returns q with tasks that continue the trace of the code that enqueues them.
func (t *Tracing) Queue(q queue.Queue) queue.Queue {
	if t == nil {
		return q
	}
	return &traced{q, t}
}

// traced is a queue whose tasks are traced.
type traced struct {
	queue.Queue
	tracing *Tracing
}

// field is the name of the field of a trace's context, which is all that a task carries.
const field = "traceparent"

// Enqueue implements queue.Queue.
func (q *traced) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	carrier := propagation.MapCarrier{}
	q.tracing.carry.Inject(ctx, carrier)
	if parent := carrier[field]; parent != "" {
		tasks = slices.Clone(tasks)
		for i := range tasks {
			tasks[i].Trace = parent
		}
	}
	return q.Queue.Enqueue(ctx, tx, tasks...)
}

// Start implements queue.Queue.
func (q *traced) Start(ctx context.Context, lanes map[queue.Lane]queue.Pool) error {
	lanes = maps.Clone(lanes)
	for lane, pool := range lanes {
		pool.Handle = q.handler(pool.Handle)
		lanes[lane] = pool
	}
	return q.Queue.Start(ctx, lanes)
}

// handler returns h, with a span around each attempt.
func (q *traced) handler(h queue.Handler) queue.Handler {
	return func(ctx context.Context, t queue.Task) error {
		ctx = q.tracing.carry.Extract(ctx, propagation.MapCarrier{field: t.Trace})
		ctx, span := q.tracing.tracer.Start(ctx, "task "+string(t.Kind), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("spool.task", string(t.Kind)), attribute.String("spool.video", string(t.Video)),
			attribute.Int("spool.number", t.Number), attribute.Int("spool.attempt", t.Attempt)))
		defer span.End()
		err := h(ctx, t)
		if err != nil {
			span.SetStatus(codes.Error, "it runs again")
		}
		return err
	}
}
