package video

import "slices"

// Status is where a video, or one of its resolutions, stands. The values are
// part of the public interface.
type Status string

const (
	PendingUpload Status = "pending_upload" // created; the file has not been verified yet
	Processing    Status = "processing"     // verified; work is queued or running
	Ready         Status = "ready"          // can be played
	Fail          Status = "fail"           // gave up; Failure says why
)

// Statuses lists every status in the order a video meets them.
var Statuses = []Status{PendingUpload, Processing, Ready, Fail}

// next lists every legal step. MoveVideo and MoveResolution of package store
// guard their UPDATE statements with it, and storetest walks it in full, so the
// database and this table cannot drift apart.
//
// A failed video starts again when its owner uploads another file to the same
// address and completes once more, as long as no upload was accepted; or when one
// of its resolutions is tried again. A ready video goes back to work when a
// resolution is added to it or tried again; a ready resolution stays ready.
var next = map[Status][]Status{
	PendingUpload: {Processing, Fail},
	Processing:    {Ready, Fail},
	Ready:         {Processing},
	Fail:          {Processing, Fail},
}

// CanBecome reports whether the step from s to other is legal.
func (s Status) CanBecome(other Status) bool { return slices.Contains(next[s], other) }

// Before lists the statuses from which other can be reached in one step.
func Before(other Status) []Status {
	var from []Status
	for _, s := range Statuses {
		if s.CanBecome(other) {
			from = append(from, s)
		}
	}
	return from
}

// Finished reports whether no more work is wanted.
func (s Status) Finished() bool { return s == Ready || s == Fail }

// Summarize computes the status of a video from those of its resolutions:
// processing while any is unfinished, then ready if at least one is, else fail.
// With no resolution left, was stands, unless it promised work that nobody wants
// any more.
func Summarize(was Status, resolutions []Resolution) Status {
	if len(resolutions) == 0 && was != Processing {
		return was
	}
	ready := false
	for _, r := range resolutions {
		if !r.Status.Finished() {
			return r.Status
		}
		ready = ready || r.Status == Ready
	}
	if ready {
		return Ready
	}
	return Fail
}
