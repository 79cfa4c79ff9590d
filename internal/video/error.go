package video

import (
	"errors"
	"time"
)

// Kind classifies an Error. Package problem maps it to an HTTP status.
type Kind string

const (
	Internal            Kind = "internal"
	Invalid             Kind = "invalid"
	Unauthenticated     Kind = "unauthenticated"
	Forbidden           Kind = "forbidden"
	NotFound            Kind = "not_found"
	Gone                Kind = "gone"        // it was there
	NotAllowed          Kind = "not_allowed" // the method, on this path
	Conflict            Kind = "conflict"
	Locked              Kind = "locked" // another request is using it
	TooLarge            Kind = "too_large"
	UnsupportedMedia    Kind = "unsupported_media"
	Unprocessable       Kind = "unprocessable"
	RangeUnsatisfiable  Kind = "range_unsatisfiable"
	PreconditionFailed  Kind = "precondition_failed"
	RateLimited         Kind = "rate_limited"
	NotImplemented      Kind = "not_implemented"
	Unavailable         Kind = "unavailable"
	InsufficientStorage Kind = "insufficient_storage"
)

// Error carries two messages for two readers: Msg is shown to the person who
// made the request, Err stays in the operator's log.
type Error struct {
	Kind       Kind
	Code       string // stable snake_case word for programs
	Msg        string // a sentence for a person
	Faults     []Fault
	RetryAfter time.Duration // zero: waiting does not help
	Err        error
}

// Fault is one invalid field of a request.
type Fault struct {
	Field   string // such as "resolutions[1]"
	Code    string
	Message string
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Msg + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost *Error in err's chain. Any other
// error is Internal, so forgetting to classify never leaks text.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// InvalidFields returns the error for a request with invalid fields.
func InvalidFields(faults ...Fault) *Error {
	return &Error{Kind: Invalid, Code: "invalid_request", Msg: "The request has invalid fields; see errors.", Faults: faults}
}

// VideoNotFound is the error for a video that is unknown, deleted or another
// tenant's. Clients cannot tell these apart.
func VideoNotFound() *Error {
	return &Error{Kind: NotFound, Code: "video_not_found", Msg: "There is no video with this id."}
}

// ResolutionNotFound is the same for a resolution.
func ResolutionNotFound() *Error {
	return &Error{Kind: NotFound, Code: "resolution_not_found", Msg: "There is no resolution with this id."}
}
