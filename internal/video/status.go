package video

import "slices"

// Status is the status of a video or of one of its resolutions. The values are
// part of the public API.
type Status string

const (
	PendingUpload Status = "pending_upload" // created; the file has not been verified yet
	Processing    Status = "processing"     // verified; work is queued or running
	Ready         Status = "ready"          // can be played
	Fail          Status = "fail"           // gave up; Failure says why
)

// Statuses lists every status in the usual order of a video's life.
var Statuses = []Status{PendingUpload, Processing, Ready, Fail}

// next lists every legal transition. MoveVideo and MoveResolution of package store
// guard their UPDATE statements with it, and storetest walks it in full, so the
// database and this table cannot drift apart.
//
// A failed video starts again when another file is uploaded to the same URL and
// completed, as long as no upload was accepted, or when one of its resolutions is
// retried, and waits again when its file is to be fetched once more. A ready video is processed again when a resolution is added or
// retried; a ready resolution stays ready.
var next = map[Status][]Status{
	PendingUpload: {Processing, Fail},
	Processing:    {Ready, Fail},
	Ready:         {Processing},
	Fail:          {Processing, Fail, PendingUpload},
}

// CanBecome reports whether the transition from s to other is legal.
func (s Status) CanBecome(other Status) bool { return slices.Contains(next[s], other) }

// Before lists the statuses with a legal transition to other.
func Before(other Status) []Status {
	var from []Status
	for _, s := range Statuses {
		if s.CanBecome(other) {
			from = append(from, s)
		}
	}
	return from
}

// Finished reports whether no work is left.
func (s Status) Finished() bool { return s == Ready || s == Fail }

// Summarize computes the status of a video from its resolutions:
// processing while any is unfinished, then ready if at least one is, else fail.
// Without resolutions the old status stays, except that processing becomes fail:
// nothing is left to process.
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
