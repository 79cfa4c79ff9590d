package client

import (
	"context"
	"net/url"
	"time"
)

// Audience is what was watched of a video, or of all videos of a tenant.
type Audience struct {
	From                  time.Time `json:"from"`
	To                    time.Time `json:"to"`
	Step                  string    `json:"step"` // "hour" or "day": how long each moment of the timeline is
	Views                 int64     `json:"views"`
	Viewers               int64     `json:"viewers"`
	ViewersAre            string    `json:"viewersAre"` // "unique", or "sums" of days and videos
	WatchedSeconds        float64   `json:"watchedSeconds"`
	AverageWatchedSeconds float64   `json:"averageWatchedSeconds"`
	CompletionRate        float64   `json:"completionRate"` // the share of views that reached 95 % of the video
	Bytes                 int64     `json:"bytes"`          // that Spool itself sent
	Startup               struct {
		P50 float64 `json:"p50"`
		P95 float64 `json:"p95"`
	} `json:"startup"` // seconds until the first picture
	Stalls struct {
		Ratio   float64 `json:"ratio"`
		PerHour float64 `json:"perHour"`
	} `json:"stalls"`
	Failures  int64            `json:"failures"`
	Timeline  []AudienceMoment `json:"timeline"`
	Devices   []AudienceLine   `json:"devices"`
	Browsers  []AudienceLine   `json:"browsers"`
	Countries []AudienceLine   `json:"countries"` // ISO codes; none unless the server has a database of them
	Referrers []AudienceLine   `json:"referrers"`
	Qualities []AudienceLine   `json:"qualities"`
	Retention []AudiencePart   `json:"retention,omitempty"` // of a video
	Top       []AudienceVideo  `json:"top,omitempty"`       // of a tenant: what was watched longest
}

// AudienceMoment is an hour or a day.
type AudienceMoment struct {
	At             time.Time `json:"at"`
	Views          int64     `json:"views"`
	WatchedSeconds float64   `json:"watchedSeconds"`
}

// AudienceLine is a line of a list.
type AudienceLine struct {
	Name           string  `json:"name"`
	Views          int64   `json:"views"`
	WatchedSeconds float64 `json:"watchedSeconds"`
}

// AudiencePart is a part of a video, and which share of its views saw it.
type AudiencePart struct {
	FromSeconds float64 `json:"fromSeconds"`
	ToSeconds   float64 `json:"toSeconds"`
	Share       float64 `json:"share"`
}

// AudienceVideo is a video that was watched much.
type AudienceVideo struct {
	VideoID        string  `json:"videoId"`
	Title          string  `json:"title"`
	Views          int64   `json:"views"`
	WatchedSeconds float64 `json:"watchedSeconds"`
}

// VideoAudience returns what was watched of a video between two times. A zero to is now, a zero from 30 days before it.
func (c *Client) VideoAudience(ctx context.Context, id string, from, to time.Time) (Audience, error) {
	return get[Audience](ctx, c, path("video", id, "audience"), audienceRange(from, to))
}

// Audience returns what was watched of all videos between two times.
func (c *Client) Audience(ctx context.Context, from, to time.Time) (Audience, error) {
	return get[Audience](ctx, c, path("audience"), audienceRange(from, to))
}

func audienceRange(from, to time.Time) url.Values {
	query := url.Values{}
	for name, at := range map[string]time.Time{"from": from, "to": to} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339))
		}
	}
	return query
}
