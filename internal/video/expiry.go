package video

import "time"

// ExpiryNotice is how long before a video is deleted by itself its webhooks are told.
const ExpiryNotice = 24 * time.Hour

// CheckExpiry returns what is wrong with the time at which a video is to be deleted. nil, and the zero time, which is
// never, are valid.
func CheckExpiry(at *time.Time, now time.Time) []Fault {
	if at == nil || at.IsZero() || at.After(now) {
		return nil
	}
	return []Fault{{"expiresAt", "out_of_range", "must be in the future"}}
}

// expire sets when the video is deleted. A changed time is told of again.
func (v *Video) expire(at time.Time) {
	if at = at.UTC().Truncate(time.Millisecond); at.Equal(v.ExpiresAt) {
		return
	}
	v.ExpiresAt, v.ExpiryTold = at, false
}
