package video

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// ID names a video. It is a UUID in lower case.
type ID string

// ResolutionID names one resolution of one video. It is a UUID in lower case.
type ResolutionID string

// Tenant is who a video belongs to. Keys of one tenant never see another's.
type Tenant string

// DefaultTenant owns what is made with the bootstrap key.
const DefaultTenant Tenant = "default"

var uuidShape = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ParseID returns s as an ID, or an Invalid error naming field.
func ParseID(field, s string) (ID, error) {
	if !uuidShape.MatchString(s) {
		return "", InvalidFields(Fault{field, "invalid_uuid", "must be a UUID such as 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"})
	}
	return ID(strings.ToLower(s)), nil
}

// Video is one uploaded film and what is known about it.
type Video struct {
	ID          ID
	Tenant      Tenant
	Filename    string // a label the client chose; never part of a path
	ContentType string // what the upload must be sent as
	IsPublic    bool
	Upscale     bool            // blow small sources up to the size asked for
	Metadata    json.RawMessage // nil when the client gave none
	Thumbnails  []float64       // seconds, in the order given

	Status  Status
	Failure *Failure // set when Status is Fail
	// Warnings are what a person should know of a video that is not a failure.
	Warnings []Warning

	CreatedAt       time.Time
	UploadExpiresAt time.Time
	CompletedAt     time.Time // zero until an upload was verified and accepted
	DeletedAt       time.Time // set while a deletion is under way; readers see no such video

	Source   Source // zero until CompletedAt
	Duration time.Duration
	Plan     *Plan // nil until the file has been inspected

	Resolutions []Resolution // in the order asked for
}

// Source is the uploaded file as it was verified. What was verified is what is
// transcoded: nothing writes to Key again.
type Source struct {
	Key  string
	Size int64
	ETag string
}

// Resolution is one output of a video.
type Resolution struct {
	ID      ResolutionID
	VideoID ID
	Name    Name
	Status  Status
	Failure *Failure // set when Status is Fail

	// Known once Status is Ready.
	Width, Height int
	SizeBytes     int64
	Bitrate       int64 // bits per second

	Quality *QualityScore // to the source; nil until it was measured
}

// Resolution returns the resolution called name, if the video has it.
func (v *Video) Resolution(name Name) (Resolution, bool) {
	for _, r := range v.Resolutions {
		if r.Name == name {
			return r, true
		}
	}
	return Resolution{}, false
}

// Unplanned lists the resolutions that are to be made and that no plan is about
// yet: all of them before the first inspection, and later those that were added or
// are to be tried again.
func (v *Video) Unplanned() []Name {
	var names []Name
	for _, r := range v.Resolutions {
		if r.Status == Processing && (v.Plan == nil || v.Plan.RenditionOf(r.Name) < 0) {
			names = append(names, r.Name)
		}
	}
	return names
}

// UploadOpen reports whether the upload address still accepts a file at now.
func (v *Video) UploadOpen(now time.Time) bool {
	return v.CompletedAt.IsZero() && now.Before(v.UploadExpiresAt)
}

// Settled reports whether nothing happens to the video by itself any more: it is
// ready, or failed in a way that uploading again does not mend. Somebody may still
// delete it or want more of it.
func (v *Video) Settled(now time.Time) bool {
	return v.Status == Ready || v.Status == Fail && !v.UploadOpen(now)
}
