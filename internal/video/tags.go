package video

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of tags.
const (
	MaxTags     = 50  // of a video
	MaxTag      = 64  // characters
	MaxTagsSent = 100 // in a request, duplicates included
)

// CleanTags returns tags without the spaces around them and without duplicates, in the order of first appearance.
// Case tells tags apart. nil stays nil.
func CleanTags(all []string) []string {
	if all == nil {
		return nil
	}
	clean := []string{}
	for _, tag := range all {
		if tag = strings.TrimSpace(tag); !slices.Contains(clean, tag) {
			clean = append(clean, tag)
		}
	}
	return clean
}

// checkTags returns what is wrong with the tags in a field.
func checkTags(field string, all []string) []Fault {
	var faults []Fault
	for i, tag := range all {
		at := fmt.Sprintf("%s[%d]", field, i)
		tag = strings.TrimSpace(tag)
		if n := utf8.RuneCountInString(tag); n < 1 || n > MaxTag {
			faults = append(faults, Fault{at, "out_of_range", fmt.Sprintf("must have 1 to %d characters, has %d", MaxTag, n)})
		} else if strings.ContainsRune(tag, 0) {
			faults = append(faults, Fault{at, "not_allowed", "must not contain the character NUL, which not every database can store"})
		}
	}
	if n := len(CleanTags(all)); n > MaxTags {
		faults = append(faults, Fault{field, "out_of_range", fmt.Sprintf("must have at most %d different tags, has %d", MaxTags, n)})
	}
	return faults
}

// Tagged reports whether a video has all tags that the filter asks for.
func (f Filter) Tagged(v Video) bool {
	return !slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(v.Tags, tag) })
}
