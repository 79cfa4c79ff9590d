package video

import (
	"fmt"
	"slices"
	"time"
)

// ManyEdit is a change of many videos. What is nil stays as it is.
type ManyEdit struct {
	AddTags, RemoveTags []string
	ExpiresAt           *time.Time // zero: never
}

// Check returns everything that is wrong with e.
func (e ManyEdit) Check() []Fault {
	faults := slices.Concat(checkTags("tags.add", e.AddTags), checkTags("tags.remove", e.RemoveTags))
	if len(e.AddTags) == 0 && len(e.RemoveTags) == 0 && e.ExpiresAt == nil {
		faults = append(faults, Fault{"", "required", "at least one field that can be changed is required"})
	}
	return faults
}

// Of returns what e changes of one video. Tags that are added come last; one that is both removed and added stays.
func (e ManyEdit) Of(v Video) (Edit, error) {
	out := Edit{ExpiresAt: e.ExpiresAt}
	if len(e.AddTags) == 0 && len(e.RemoveTags) == 0 {
		return out, nil
	}
	removed := CleanTags(e.RemoveTags)
	kept := slices.DeleteFunc(slices.Clone(v.Tags), func(tag string) bool { return slices.Contains(removed, tag) })
	tags := CleanTags(slices.Concat(kept, e.AddTags))
	if len(tags) > MaxTags {
		return Edit{}, &Error{Kind: Conflict, Code: "limit_reached",
			Msg: fmt.Sprintf("The video %s would have %d tags, and may have %d. Nothing was changed.", v.ID, len(tags), MaxTags)}
	}
	out.Tags = &tags
	return out, nil
}
