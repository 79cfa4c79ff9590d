package tus

import (
	"context"
	"testing"
)

// changing is a context like that of tusd: whoever asks it for a value reads all of it.
type changing struct {
	context.Context
	body *int
}

func (c changing) Value(key any) any { return c.Context.Value(key) }

// A connection to the storage that one call opens may outlive it, and ask for values
// while tusd changes its context for the next call. The race detector watches.
func TestTheContextOfACallIsNotThatOfTusd(t *testing.T) {
	type key struct{}
	ofTusd := &changing{Context: t.Context()}
	q := &request{values: context.WithValue(t.Context(), key{}, "value")}
	ctx := q.context(ofTusd)
	got := make(chan any)
	go func() { got <- ctx.Value(key{}) }()
	ofTusd.body = new(int)
	if v := <-got; v != "value" {
		t.Errorf("Value = %v; want that of the request", v)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if q.context(stopped).Err() == nil {
		t.Error("the context of a call does not end with that of tusd")
	}
}
