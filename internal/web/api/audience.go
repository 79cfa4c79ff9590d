package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// audienceRoutes are the operations that tell what was watched.
type audienceRoutes struct{ audience *audience.Service }

func (r audienceRoutes) register(t *table) {
	notes := "By hour for up to seven days, else by day; times are UTC. With Accept: text/csv, the timeline alone. What is watched now is there within seconds. docs/audience.md says what is counted."
	add(t, operation{
		id: "getVideoAudience", route: "GET /api/video/{id}/audience", summary: "Get what was watched of a video", tag: "audience", notes: notes,
		scopes: []auth.Scope{auth.Read}, status: 200, errors: []int{404}, costly: true, parameters: append([]*huma.Param{videoID()}, described(new(audienceRange).parameters())...), describe: describeCSV,
	}, r.ofVideo)
	add(t, operation{
		id: "getAudience", route: "GET /api/audience", summary: "Get what was watched of all videos", tag: "audience",
		notes:  notes + " Videos that were deleted count.",
		scopes: []auth.Scope{auth.Read}, status: 200, costly: true, parameters: described(new(audienceRange).parameters()), describe: describeCSV,
	}, r.ofTenant)
}

// describeCSV describes the second form of the answer.
func describeCSV(op *huma.Operation, _ huma.Registry) {
	op.Responses["200"].Content["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
}

// audienceRange is what a request asks for.
type audienceRange struct{ from, to time.Time }

func (a *audienceRange) parameters() []parameter {
	return []parameter{
		timeParameter("from", "Absent: 30 days before to.", func(t time.Time) { a.from = t }),
		timeParameter("to", "Absent: now.", func(t time.Time) { a.to = t }),
	}
}

// AudienceFigures are what both operations answer. It is exported because huma ignores embedded types that are not.
type AudienceFigures struct {
	From                  time.Time      `json:"from" doc:"The beginning of the first hour or day that is counted."`
	To                    time.Time      `json:"to" doc:"The end of the last one."`
	Step                  string         `json:"step" enum:"hour,day" doc:"How long each moment of the timeline is."`
	Views                 int64          `json:"views" doc:"A view begins when one second was watched."`
	Viewers               int64          `json:"viewers" doc:"Who watched, told apart by address and browser within one day and video. See viewersAre."`
	ViewersAre            string         `json:"viewersAre" enum:"unique,sums" doc:"unique: of one video and day. sums: somebody who came on two days, or watched two videos, counts twice."`
	WatchedSeconds        float64        `json:"watchedSeconds" doc:"By the clock, without pauses."`
	AverageWatchedSeconds float64        `json:"averageWatchedSeconds" doc:"Of a view."`
	CompletionRate        float64        `json:"completionRate" doc:"The share of views that reached 95 % of the video."`
	Bytes                 int64          `json:"bytes" doc:"What Spool itself sent. What a bucket or a CDN sends is not counted."`
	Startup               startupView    `json:"startup"`
	Stalls                stallsView     `json:"stalls"`
	Failures              int64          `json:"failures" doc:"Sessions that ended with an error."`
	Timeline              []momentView   `json:"timeline" nullable:"false" doc:"Every hour or day of the range."`
	Devices               []audienceLine `json:"devices" nullable:"false"`
	Browsers              []audienceLine `json:"browsers" nullable:"false"`
	Countries             []audienceLine `json:"countries" nullable:"false" doc:"ISO 3166-1 codes. Empty unless the server has a database of them (setting geo_database)."`
	Referrers             []audienceLine `json:"referrers" nullable:"false" doc:"Hosts of pages that led to the video or show it; direct: none."`
	Qualities             []audienceLine `json:"qualities" nullable:"false" doc:"Resolutions. A view counts in each of those that it saw."`
}

type startupView struct {
	P50 float64 `json:"p50" doc:"Seconds from the wish to play to the first picture: half of the plays were faster."`
	P95 float64 `json:"p95" doc:"95 % of the plays were faster."`
}

type stallsView struct {
	Ratio   float64 `json:"ratio" doc:"The share of the time that was spent waiting for data."`
	PerHour float64 `json:"perHour" doc:"How often playing stopped in an hour that was watched."`
}

type momentView struct {
	At             time.Time `json:"at"`
	Views          int64     `json:"views"`
	WatchedSeconds float64   `json:"watchedSeconds"`
}

type audienceLine struct {
	Name           string  `json:"name"`
	Views          int64   `json:"views"`
	WatchedSeconds float64 `json:"watchedSeconds"`
}

// videoAudience is the audience of a video.
type videoAudience struct {
	AudienceFigures
	Retention []retentionView `json:"retention" nullable:"false" doc:"The parts of the video, each with the share of views that saw it. Empty if no player told."`
}

type retentionView struct {
	FromSeconds float64 `json:"fromSeconds"`
	ToSeconds   float64 `json:"toSeconds"`
	Share       float64 `json:"share"`
}

// tenantAudience is the audience of a tenant.
type tenantAudience struct {
	AudienceFigures
	Top []topView `json:"top" nullable:"false" doc:"The videos that were watched longest, at most 20. One that was never among the first hundred of a day can be missing."`
}

type topView struct {
	VideoID        video.ID `json:"videoId" format:"uuid"`
	Title          string   `json:"title"`
	Views          int64    `json:"views"`
	WatchedSeconds float64  `json:"watchedSeconds"`
}

// rounded is a number of seconds, or a share, without digits that say nothing.
func rounded(n float64) float64 { return math.Round(n*1000) / 1000 }

func viewFigures(f audience.Figures, ofOne bool) AudienceFigures {
	out := AudienceFigures{
		From: f.From, To: f.To, Step: "day", Views: f.Views, Viewers: f.Viewers, ViewersAre: "sums",
		WatchedSeconds: rounded(f.Watched.Seconds()), AverageWatchedSeconds: rounded(f.Average.Seconds()), CompletionRate: rounded(f.Completion), Bytes: f.Bytes,
		Startup: startupView{rounded(f.StartupMedian.Seconds()), rounded(f.Startup95.Seconds())},
		Stalls:  stallsView{rounded(f.StallRatio), rounded(f.StallsPerHour)}, Failures: f.Failures,
		Devices: viewLines(f.Devices), Browsers: viewLines(f.Browsers), Countries: viewLines(f.Countries), Referrers: viewLines(f.Referrers), Qualities: viewLines(f.Qualities),
		Timeline: make([]momentView, len(f.Timeline)),
	}
	if f.ByHour() {
		out.Step = "hour"
	}
	const day = 24 * time.Hour
	if ofOne && !f.From.Truncate(day).Add(day).Before(f.To) {
		out.ViewersAre = "unique"
	}
	for i, m := range f.Timeline {
		out.Timeline[i] = momentView{m.At, m.Views, rounded(m.Watched.Seconds())}
	}
	return out
}

func viewLines(all []audience.Line) []audienceLine {
	out := make([]audienceLine, len(all))
	for i, l := range all {
		out[i] = audienceLine{l.Name, l.Views, rounded(l.Watched.Seconds())}
	}
	return out
}

func (r audienceRoutes) ofVideo(ctx context.Context, c *call) (*videoAudience, error) {
	of, err := c.audienceRange(r.audience)
	if err != nil {
		return nil, err
	}
	figures, parts, err := r.audience.OfVideo(ctx, c.actor, c.id, of)
	if err != nil {
		return nil, err
	}
	out := &videoAudience{viewFigures(figures, true), make([]retentionView, len(parts))}
	for i, p := range parts {
		out.Retention[i] = retentionView{rounded(p.From.Seconds()), rounded(p.To.Seconds()), rounded(p.Share)}
	}
	return out, c.preferCSV(out.Timeline)
}

func (r audienceRoutes) ofTenant(ctx context.Context, c *call) (*tenantAudience, error) {
	of, err := c.audienceRange(r.audience)
	if err != nil {
		return nil, err
	}
	figures, top, err := r.audience.OfTenant(ctx, c.actor, of)
	if err != nil {
		return nil, err
	}
	out := &tenantAudience{viewFigures(figures, false), make([]topView, len(top))}
	for i, t := range top {
		out.Top[i] = topView{t.Video, t.Title, t.Views, rounded(t.Watched.Seconds())}
	}
	return out, c.preferCSV(out.Timeline)
}

func (c *call) audienceRange(s *audience.Service) (audience.Range, error) {
	var asked audienceRange
	if err := c.query(asked.parameters()); err != nil {
		return audience.Range{}, err
	}
	return s.Range(asked.from, asked.to)
}

// preferCSV has the timeline sent as CSV if the client wants that.
func (c *call) preferCSV(timeline []momentView) error {
	c.writer.Header().Add("Vary", "Accept")
	if !acceptsCSV(c.request) {
		return nil
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	lines := [][]string{{"at", "views", "watchedSeconds"}}
	for _, m := range timeline {
		lines = append(lines, []string{m.At.Format(time.RFC3339), strconv.FormatInt(m.Views, 10), strconv.FormatFloat(m.WatchedSeconds, 'f', -1, 64)})
	}
	if err := w.WriteAll(lines); err != nil {
		return fmt.Errorf("write a timeline: %w", err)
	}
	c.encoded, c.contentType = text.Bytes(), "text/csv; charset=utf-8"
	return nil
}

// acceptsCSV reports whether a client names text/csv, before application/json if it names both.
func acceptsCSV(r *http.Request) bool {
	for kind := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, _, _ = strings.Cut(kind, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/csv":
			return true
		case "application/json":
			return false
		}
	}
	return false
}
