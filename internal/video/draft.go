package video

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits on what a client may ask for.
const (
	MaxFilename      = 255      // characters
	MaxTitle         = 200      // characters
	maxResolutions   = 100      // names, duplicates included
	MaxThumbnails    = 50       // timestamps
	MaxMetadataBytes = 16 << 10 // serialised
	MaxKey           = 255      // characters
	maxCodecs        = 10       // names, duplicates included
	minLimitSeconds  = 0.001    // of maxDurationSeconds
	maxLimitSeconds  = 31536000 // of maxDurationSeconds: a year
)

// checkFilename returns what is wrong with a file name.
func checkFilename(s string) []Fault {
	if n := utf8.RuneCountInString(s); n < 1 || n > MaxFilename {
		return []Fault{{"filename", "out_of_range", fmt.Sprintf("must have 1 to %d characters, has %d", MaxFilename, n)}}
	}
	if strings.ContainsRune(s, 0) {
		return []Fault{{"filename", "not_allowed", "must not contain the character NUL, which not every database can store"}}
	}
	return nil
}

// checkTitle returns what is wrong with a title. An empty one is valid.
func checkTitle(s string) []Fault {
	if n := utf8.RuneCountInString(s); n > MaxTitle {
		return []Fault{{"title", "out_of_range", fmt.Sprintf("must have at most %d characters, has %d", MaxTitle, n)}}
	}
	if strings.ContainsRune(s, 0) {
		return []Fault{{"title", "not_allowed", "must not contain the character NUL, which not every database can store"}}
	}
	return nil
}

// TitleOf returns the given title, or the default title if the given one is blank.
func TitleOf(title, filename string) string {
	if strings.TrimSpace(title) == "" {
		return DefaultTitle(filename)
	}
	return title
}

// DefaultTitle returns the title of a video that was given none: its file name without the
// extension. What follows the last dot is none if it contains a space, as in "Dr. Who".
func DefaultTitle(filename string) string {
	title := withoutExtension(filename)
	if runes := []rune(title); len(runes) > MaxTitle {
		title = string(runes[:MaxTitle])
	}
	return title
}

func withoutExtension(filename string) string {
	name := filename
	if ext := path.Ext(filename); !strings.ContainsFunc(ext, unicode.IsSpace) {
		name = strings.TrimSuffix(filename, ext)
	}
	if strings.TrimSpace(name) == "" { // ".mp4", "  .mp4": the rest would be invisible
		return filename
	}
	return name
}

// maxDownloadName is how many bytes of a file name are offered to those who save a file. Few file
// systems take more than 255.
const maxDownloadName = 240

// DownloadName returns the name under which people save an MP4 file of a video. A client chose the file
// name freely, so it loses what could be a path, control a terminal or hide the extension.
func DownloadName(filename string) string {
	return safeName(withoutExtension(filename), maxDownloadName) + ".mp4"
}

// SafeFilename returns the name under which people save the file that was uploaded: its own, without what DownloadName
// takes away. It keeps the extension.
func SafeFilename(filename string) string {
	name := withoutExtension(filename)
	extension := safeName(strings.TrimPrefix(filename, name), maxExtension)
	if name == filename || extension == "video" {
		return safeName(filename, maxDownloadName)
	}
	return safeName(name, maxDownloadName) + "." + extension
}

// maxExtension is how many bytes of an extension are kept.
const maxExtension = 12

// safeName returns a name without what could be a path, control a terminal or change how a name reads, and at most so
// many bytes long.
func safeName(name string, longest int) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	for len(name) > longest {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name = strings.Trim(name, ". "); name == "" {
		name = "video"
	}
	return name
}

// checkResolutions returns what is wrong with a list of resolution names.
func checkResolutions(names []Name) []Fault {
	if len(names) == 0 {
		return []Fault{{"resolutions", "out_of_range", "must name at least one resolution"}}
	}
	if len(names) > maxResolutions {
		return []Fault{{"resolutions", "out_of_range", fmt.Sprintf("must have at most %d names, has %d", maxResolutions, len(names))}}
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

// checkMaxSeconds returns what is wrong with the longest duration that a client accepts. nil is valid.
func checkMaxSeconds(s *float64) []Fault {
	if s == nil || *s >= minLimitSeconds && *s <= maxLimitSeconds {
		return nil
	}
	return []Fault{{"maxDurationSeconds", "out_of_range", fmt.Sprintf("must be a number of seconds from %g to %d", minLimitSeconds, maxLimitSeconds)}}
}

// CheckLength returns a failure if a video of this length is longer than its client accepts, or nil.
func (v *Video) CheckLength(d time.Duration) *Failure {
	if v.MaxDuration == 0 || d <= v.MaxDuration {
		return nil
	}
	return Failf(TooLong, "The video is %.3f seconds long, and at most %g were asked for.", d.Seconds(), v.MaxDuration.Seconds())
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
	var faults []Fault
	uploaded := d.SourceURL == nil && d.Clip == nil
	if uploaded || d.Filename != "" {
		faults = checkFilename(d.Filename)
	}
	if uploaded && d.ProfileName() == "" || d.Resolutions != nil {
		faults = append(faults, checkResolutions(d.Resolutions)...)
	}
	if d.Watermark != nil && *d.Watermark != (WatermarkChoice{}) {
		faults = append(faults, d.Watermark.Check("watermark")...)
	}
	return slices.Concat(faults, d.checkClip(), CheckThumbnails(d.Thumbnails), CheckMetadata(d.Metadata), CheckKey(d.Key), checkTitle(d.Title), checkCodecs(d.Codecs), checkMaxSeconds(d.MaxSeconds), checkHDR(d.HDR, d.Codecs), checkCopySource(d.CopySource), checkLoudness(d.Loudness), checkTags("tags", d.Tags), CheckOrigins(d.AllowedOrigins))
}

// checkClip returns what is wrong with a clip beside its times.
func (d *Draft) checkClip() (faults []Fault) {
	if d.Clip == nil {
		return nil
	}
	const message = "cannot be combined with clip"
	if d.SourceURL != nil {
		faults = append(faults, Fault{"sourceUrl", "not_allowed", message})
	}
	if d.Trim != nil {
		faults = append(faults, Fault{"trim", "not_allowed", message})
	}
	return faults
}

// ProfileName returns the name of the profile that is chosen, or "".
func (d *Draft) ProfileName() string {
	if d.Profile == nil {
		return ""
	}
	return *d.Profile
}

// WithDefaults returns the draft with what it may leave out: the filename of an import, taken from the address, and the
// resolutions of an import, of a clip and of a video with a profile. It returns other drafts as they are.
func (d Draft) WithDefaults(resolutions []Name) Draft {
	if d.SourceURL == nil && d.Clip == nil && d.ProfileName() == "" {
		return d
	}
	if d.Filename == "" && d.SourceURL != nil {
		d.Filename = filenameIn(*d.SourceURL)
	}
	if d.Resolutions == nil {
		d.Resolutions = resolutions
	}
	return d
}

// filenameIn returns the name of the file at an address. The extension, at the end, survives if the name is too long.
func filenameIn(address string) string {
	const unnamed = "video"
	u, err := url.Parse(address)
	if err != nil {
		return unnamed
	}
	name := strings.ToValidUTF8(path.Base(u.Path), "_")
	if name == "." || name == "/" || strings.ContainsRune(name, 0) {
		return unnamed
	}
	if runes := []rune(name); len(runes) > MaxFilename {
		name = string(runes[len(runes)-MaxFilename:])
	}
	return name
}

// Edit is a change of what a client says about its video. What is nil stays as it is.
type Edit struct {
	Title    *string          // empty: the default
	Metadata *json.RawMessage // a JSON object, or nil: none
	Tags     *[]string

	ExpiresAt *time.Time // zero: never
	IsPublic  *bool      // files move before a video says so; see package visibility

	AllowedOrigins *[]string // nil in it: everywhere
	AllowNoOrigin  *bool
}

// Check returns everything that is wrong with e.
func (e Edit) Check() []Fault {
	var faults []Fault
	if e == (Edit{}) {
		faults = append(faults, Fault{"", "required", "at least one field that can be changed is required"})
	}
	if e.Title != nil {
		faults = append(faults, checkTitle(*e.Title)...)
	}
	if e.Metadata != nil {
		faults = append(faults, CheckMetadata(*e.Metadata)...)
	}
	if e.Tags != nil {
		faults = append(faults, checkTags("tags", *e.Tags)...)
	}
	if e.AllowedOrigins != nil {
		faults = append(faults, CheckOrigins(*e.AllowedOrigins)...)
	}
	return faults
}

// Edit changes v.
func (v *Video) Edit(e Edit) {
	if e.Title != nil {
		v.Title = TitleOf(*e.Title, v.Filename)
	}
	if e.Metadata != nil {
		v.Metadata = *e.Metadata
	}
	if e.Tags != nil {
		v.Tags = CleanTags(*e.Tags)
	}
	if e.ExpiresAt != nil {
		v.expire(*e.ExpiresAt)
	}
	if e.AllowedOrigins != nil {
		v.AllowedOrigins = CleanOrigins(*e.AllowedOrigins)
	}
	if e.AllowNoOrigin != nil {
		v.AllowNoOrigin = *e.AllowNoOrigin
	}
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
