package video

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits on what a client may ask for.
const (
	MaxFilename      = 255      // characters
	MaxResolutions   = 100      // names, duplicates included
	MaxThumbnails    = 50       // timestamps
	MaxMetadataBytes = 16 << 10 // serialised
	MaxKey           = 255      // characters
)

// Draft is a request for a new video.
type Draft struct {
	Filename    string
	Resolutions []Name
	IsPublic    bool
	Thumbnails  []float64       // timestamps in seconds
	Metadata    json.RawMessage // a JSON object, or nil
	Upscale     *bool           // nil: the server's default
	Key         string          // the request's Idempotency-Key; may be empty
}

// CheckFilename returns what is wrong with a file name.
func CheckFilename(s string) []Fault {
	if n := utf8.RuneCountInString(s); n < 1 || n > MaxFilename {
		return []Fault{{"filename", "out_of_range", fmt.Sprintf("must have 1 to %d characters, has %d", MaxFilename, n)}}
	}
	if strings.ContainsRune(s, 0) {
		return []Fault{{"filename", "not_allowed", "must not contain the character NUL, which not every database can store"}}
	}
	return nil
}

// CheckResolutions returns what is wrong with a list of resolution names.
func CheckResolutions(names []Name) []Fault {
	if len(names) == 0 {
		return []Fault{{"resolutions", "out_of_range", "must name at least one resolution"}}
	}
	if len(names) > MaxResolutions {
		return []Fault{{"resolutions", "out_of_range", fmt.Sprintf("must have at most %d names, has %d", MaxResolutions, len(names))}}
	}
	var faults []Fault
	for i, n := range names {
		faults = append(faults, CheckResolution(fmt.Sprintf("resolutions[%d]", i), n)...)
	}
	return faults
}

// CheckResolution returns what is wrong with the resolution name in a field.
func CheckResolution(field string, n Name) []Fault {
	if n.Valid() {
		return nil
	}
	return []Fault{{field, "not_allowed", fmt.Sprintf("must be one of %v", Names)}}
}

// CheckThumbnails returns what is wrong with a list of timestamps.
func CheckThumbnails(seconds []float64) []Fault {
	const field = "thumbnailTimestampsSeconds"
	var faults []Fault
	if len(seconds) > MaxThumbnails {
		faults = append(faults, Fault{field, "out_of_range", fmt.Sprintf("must have at most %d timestamps, has %d", MaxThumbnails, len(seconds))})
	}
	for i, s := range seconds {
		if !(s >= 0) || math.IsInf(s, 0) {
			faults = append(faults, Fault{fmt.Sprintf("%s[%d]", field, i), "out_of_range", "must be a number of seconds, zero or more"})
		}
	}
	return faults
}

// CheckMetadata returns what is wrong with a metadata object.
func CheckMetadata(raw json.RawMessage) []Fault {
	if len(raw) > MaxMetadataBytes {
		return []Fault{{"customMetadata", "out_of_range", fmt.Sprintf("must be at most %d bytes of JSON, has %d", MaxMetadataBytes, len(raw))}}
	}
	return nil
}

// KeyHeader is the request header with the idempotency key.
const KeyHeader = "Idempotency-Key"

// CheckKey returns what is wrong with an idempotency key. An empty one is valid.
func CheckKey(s string) []Fault {
	if len(s) > MaxKey {
		return []Fault{{KeyHeader, "out_of_range", fmt.Sprintf("must have at most %d characters, has %d", MaxKey, len(s))}}
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return []Fault{{KeyHeader, "not_allowed", "must consist of printable ASCII characters"}}
	}
	return nil
}

// Check returns everything that is wrong with d.
func (d *Draft) Check() []Fault {
	return slices.Concat(CheckFilename(d.Filename), CheckResolutions(d.Resolutions),
		CheckThumbnails(d.Thumbnails), CheckMetadata(d.Metadata), CheckKey(d.Key))
}

// Distinct returns names without duplicates, in the order of first appearance.
func Distinct(names []Name) []Name {
	var out []Name
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
