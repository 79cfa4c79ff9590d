package video

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Limits are what a tenant may use. 0 means that there is no limit.
type Limits struct {
	Videos        int64
	Bytes         int64
	MinutesPerDay float64
	InWork        int64
}

// Usage is what a tenant uses, and what it may use.
type Usage struct {
	Videos      int64         // that exist, without those whose upload failed or expired
	Bytes       int64         // of the files uploaded for these videos
	LengthToday time.Duration // length of the sources that were accepted today, UTC
	InWork      int64         // videos that are processing
	Limits      Limits
}

// MinutesToday is LengthToday in minutes.
func (u Usage) MinutesToday() float64 { return u.LengthToday.Minutes() }

// CheckCreate returns an error if a tenant may not create a video. u counts the new video already.
func (u Usage) CheckCreate() error {
	switch l := u.Limits; {
	case l.Videos > 0 && u.Videos > l.Videos:
		return exceeded("The limit max-videos is reached: %d of %d videos are used.", u.Videos-1, l.Videos)
	case l.Bytes > 0 && u.Bytes >= l.Bytes:
		return exceeded("The limit max-bytes is reached: %d of %d bytes are used.", u.Bytes, l.Bytes)
	case l.InWork > 0 && u.InWork >= l.InWork:
		return exceeded("The limit max-in-work is reached: %d of %d videos are being processed.", u.InWork, l.InWork)
	}
	return u.checkMinutes()
}

// CheckFile returns an error if a file would exceed the limit of bytes. u does not count the file. A
// negative size is one that is not known.
func (u Usage) CheckFile(size int64) error {
	size = max(size, 0)
	if l := u.Limits.Bytes; l > 0 && u.Bytes+size > l {
		return exceeded("The limit max-bytes would be exceeded: %d of %d bytes are used, and this file has %d.", u.Bytes, l, size)
	}
	return nil
}

// CheckAccept returns an error if the file of a video may not be accepted. u counts the file, and its
// video as processing.
func (u Usage) CheckAccept(size int64) error {
	if l := u.Limits.Videos; l > 0 && u.Videos > l {
		return exceeded("The limit max-videos is exceeded: there are %d videos with this one, and %d are allowed.", u.Videos, l)
	}
	without := u
	without.Bytes -= size
	if err := without.CheckFile(size); err != nil {
		return err
	}
	if err := u.CheckWork(); err != nil {
		return err
	}
	return u.checkMinutes()
}

// retryWork is when it makes sense to ask again whether one more video may be processed.
const retryWork = 30 * time.Second

// CheckWork returns an error if one more video may not be processed. u counts it already.
func (u Usage) CheckWork() error {
	if l := u.Limits.InWork; l > 0 && u.InWork > l {
		e := exceeded("The limit max-in-work is reached: %d of %d videos are being processed. Try again when one of them is done.", u.InWork-1, l)
		e.RetryAfter = retryWork
		return e
	}
	return nil
}

// checkMinutes returns an error if the minutes of today are used up. How long a file is turns out only when
// it is inspected, so the one that crosses the limit is still accepted.
func (u Usage) checkMinutes() error {
	if !u.minutesUsedUp() {
		return nil
	}
	return exceeded("The limit max-minutes-per-day is reached: %s of %s minutes of video are used today (UTC).",
		decimal(roundUp(u.MinutesToday())), decimal(u.Limits.MinutesPerDay))
}

func (u Usage) minutesUsedUp() bool {
	return u.Limits.MinutesPerDay > 0 && u.MinutesToday() >= u.Limits.MinutesPerDay
}

// CheckMinutes returns why a video that was inspected is not processed: the limit was used up while it
// waited. u does not count it.
func (u Usage) CheckMinutes() *Failure {
	if !u.minutesUsedUp() {
		return nil
	}
	return Failf(QuotaExceeded, "The limit max-minutes-per-day is reached: %s of %s minutes of video were used on the day (UTC) when this file was inspected. Its resolutions can be retried on another day.",
		decimal(roundUp(u.MinutesToday())), decimal(u.Limits.MinutesPerDay))
}

func exceeded(format string, args ...any) *Error {
	return &Error{Kind: Forbidden, Code: string(QuotaExceeded), Msg: fmt.Sprintf(format, args...)}
}

// roundUp rounds what is used, so that it never looks like less than a limit that it has reached.
func roundUp(minutes float64) float64 { return math.Ceil(minutes*100) / 100 }

// decimal writes a limit as it was set.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
