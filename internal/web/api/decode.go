package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// decodeDraft decodes the body of a create request. It reports all faults at once.
// Unknown fields are ignored.
func decodeDraft(body []byte, key string) (video.Draft, error) {
	f, err := parseFields(body, "filename", "title", "resolutions", "isPublic", "thumbnailTimestampsSeconds", "customMetadata", "upscale", "sourceUrl")
	if err != nil {
		return video.Draft{}, err
	}
	d := video.Draft{Key: key}
	faults := slices.Concat(
		decodeFilename(f, &d),
		decodeTitle(f, &d.Title),
		decodeResolutions(f, &d),
		decodeField(f, "isPublic", true, "must be true or false", asBool, &d.IsPublic),
		decodeThumbnails(f, &d),
		decodeMetadata(f, &d.Metadata),
		decodeField(f, "upscale", false, "must be true or false", asOptionalBool, &d.Upscale),
		decodeField(f, "sourceUrl", false, "must be a string", asOptionalString, &d.SourceURL),
		video.CheckKey(key),
	)
	if len(faults) > 0 {
		return video.Draft{}, invalidFields(faults)
	}
	return d, nil
}

// invalidFields is the error for a request with faults. It lists at most maxFaults of them.
func invalidFields(faults []video.Fault) error {
	if n := len(faults); n > maxFaults {
		e := video.InvalidFields(faults[:maxFaults]...)
		e.Msg = fmt.Sprintf("The request has %d invalid fields; errors lists the first %d.", n, maxFaults)
		return e
	}
	return video.InvalidFields(faults...)
}

func decodeFilename(f fields, d *video.Draft) []video.Fault {
	if faults := decodeField(f, "filename", true, "must be a string", asString, &d.Filename); faults != nil {
		return faults
	}
	return video.CheckFilename(d.Filename)
}

func decodeResolutions(f fields, d *video.Draft) []video.Fault {
	const name = "resolutions"
	var array json.RawMessage
	if faults := decodeField(f, name, true, "must be an array of strings", asArray, &array); faults != nil {
		return faults
	}
	names, faults := decodeItems(array, name, video.MaxResolutions, "must be a string", asString)
	for _, n := range names {
		d.Resolutions = append(d.Resolutions, video.Name(n))
	}
	return mergeFaults(faults, video.CheckResolutions(d.Resolutions))
}

func decodeThumbnails(f fields, d *video.Draft) []video.Fault {
	const name = "thumbnailTimestampsSeconds"
	var array json.RawMessage
	if faults := decodeField(f, name, false, "must be an array of numbers", asArray, &array); faults != nil || array == nil {
		return faults
	}
	seconds, faults := decodeItems(array, name, video.MaxThumbnails, "must be a number", asNumber)
	d.Thumbnails = seconds
	return mergeFaults(faults, video.CheckThumbnails(seconds))
}

func decodeTitle(f fields, title *string) []video.Fault {
	if faults := decodeField(f, "title", false, "must be a string", asString, title); faults != nil {
		return faults
	}
	return video.CheckTitle(*title)
}

func decodeMetadata(f fields, object *json.RawMessage) []video.Fault {
	faults := decodeField(f, "customMetadata", false, "must be an object", asObject, object)
	if faults != nil || *object == nil {
		return faults
	}
	return video.CheckMetadata(*object)
}

// mergeFaults adds those of more that concern other fields: an element of the wrong type
// is one fault, not also a value out of range.
func mergeFaults(faults, more []video.Fault) []video.Fault {
	seen := map[string]bool{}
	for _, f := range faults {
		seen[f.Field] = true
	}
	for _, f := range more {
		if !seen[f.Field] {
			faults = append(faults, f)
		}
	}
	return faults
}

// checkCompletion checks the body of a complete request. Its only field is reserved: it
// must have the right type and is otherwise ignored.
func checkCompletion(body []byte) (nothing, error) {
	if len(body) == 0 {
		return nothing{}, nil
	}
	f, err := parseFields(body, "checksum")
	if err != nil {
		return nothing{}, err
	}
	var checksum string
	if faults := decodeField(f, "checksum", false, "must be a string", asString, &checksum); faults != nil {
		return nothing{}, video.InvalidFields(faults...)
	}
	return nothing{}, nil
}

const maxExpirationSeconds = int(auth.MaxSignedLife / time.Second)

var expirationShape = regexp.MustCompile(`^[1-9][0-9]{0,7}$`)

// parseExpiration parses how long signed URLs shall be valid.
func parseExpiration(s string) (time.Duration, []video.Fault) {
	n, err := strconv.Atoi(s)
	if err != nil || !expirationShape.MatchString(s) || n > maxExpirationSeconds {
		return 0, []video.Fault{{Field: "expirationSeconds", Code: "out_of_range", Message: fmt.Sprintf("must be a whole number from 1 to %d", maxExpirationSeconds)}}
	}
	return time.Duration(n) * time.Second, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

func asString(raw json.RawMessage) (s string, ok bool) {
	ok = raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

func asBool(raw json.RawMessage) (b, ok bool) {
	return string(raw) == "true", string(raw) == "true" || string(raw) == "false"
}

// asOptionalBool is asBool for a field whose absence does not mean false.
func asOptionalBool(raw json.RawMessage) (*bool, bool) {
	b, ok := asBool(raw)
	return &b, ok
}

// asNumber returns infinity for a number that overflows, which is then out of range
// rather than of the wrong type.
func asNumber(raw json.RawMessage) (float64, bool) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	n, _ := strconv.ParseFloat(string(raw), 64)
	return n, true
}

func asArray(raw json.RawMessage) (json.RawMessage, bool) { return raw, raw[0] == '[' }

// asObject removes the white space between tokens, which neither counts towards the size
// limit nor is stored.
func asObject(raw json.RawMessage) (json.RawMessage, bool) {
	var compact bytes.Buffer
	if raw[0] != '{' || json.Compact(&compact, raw) != nil {
		return nil, false
	}
	return compact.Bytes(), true
}
