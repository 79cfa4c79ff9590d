package clientcmd

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spool-video/spool/client"
)

// Audience is spool audience.
type Audience struct {
	Connection
	ID   string        `arg:"" optional:"" help:"The video. Without one: all videos."`
	Last time.Duration `default:"720h" placeholder:"DURATION" help:"How far back, such as 24h or 2160h. Up to 168h are told by hour, more by day."`
	CSV  bool          `name:"csv" help:"Print the timeline as CSV."`
}

// Help is shown by --help.
func (Audience) Help() string {
	return `Examples:

    spool audience 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool audience --last=24h
    spool audience --last=2160h --csv
`
}

// Run prints what was watched.
func (c *Audience) Run(ctx context.Context, env *Environment) error {
	if c.Last <= 0 {
		return &UsageError{Text: "--last must be positive"}
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	from := time.Now().Add(-c.Last)
	ask := func() (client.Audience, error) { return api.Audience(ctx, from, time.Time{}) }
	if c.ID != "" {
		ask = func() (client.Audience, error) { return api.VideoAudience(ctx, c.ID, from, time.Time{}) }
	}
	found, err := ask()
	switch {
	case err != nil:
		return c.fail(env, err)
	case c.JSON:
		return printJSON(env.Stdout, found)
	case c.CSV:
		_, err = fmt.Fprint(env.Stdout, timelineCSV(found))
	default:
		_, err = fmt.Fprint(env.Stdout, audienceText(found))
	}
	return err
}

func timelineCSV(a client.Audience) string {
	var out strings.Builder
	fmt.Fprintln(&out, "at,views,watchedSeconds")
	for _, m := range a.Timeline {
		fmt.Fprintf(&out, "%s,%d,%g\n", m.At.UTC().Format(time.RFC3339), m.Views, m.WatchedSeconds)
	}
	return out.String()
}

// audienceText is an audience as people read it.
func audienceText(a client.Audience) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	viewers := "viewers"
	if a.ViewersAre == "sums" {
		viewers = "viewers, day by day"
	}
	for _, line := range [][2]any{
		{"views", a.Views}, {viewers, a.Viewers},
		{"watched", hoursAndMinutes(a.WatchedSeconds)}, {"of a view", hoursAndMinutes(a.AverageWatchedSeconds)},
		{"watched to the end", fmt.Sprintf("%.0f %%", 100*a.CompletionRate)},
		{"until the first picture", fmt.Sprintf("%.1f s, 95 %% within %.1f s", a.Startup.P50, a.Startup.P95)},
		{"stalls", fmt.Sprintf("%.1f an hour, %.1f %% of the time", a.Stalls.PerHour, 100*a.Stalls.Ratio)},
		{"failures", a.Failures}, {"sent", humanize.Bytes(uint64(max(a.Bytes, 0)))},
	} {
		fmt.Fprintf(table, "%v\t%v\n", line[0], line[1])
	}
	table.Flush()
	for _, list := range []struct {
		title string
		lines []client.AudienceLine
	}{{"Devices", a.Devices}, {"Browsers", a.Browsers}, {"Countries", a.Countries}, {"Referrers", a.Referrers}, {"Qualities", a.Qualities}} {
		writeLines(&out, list.title, list.lines)
	}
	if len(a.Top) > 0 {
		lines := make([]client.AudienceLine, len(a.Top))
		for i, v := range a.Top {
			lines[i] = client.AudienceLine{Name: v.VideoID + "  " + v.Title, Views: v.Views, WatchedSeconds: v.WatchedSeconds}
		}
		writeLines(&out, "Watched most", lines)
	}
	return out.String()
}

// writeLines writes the first lines of a list.
func writeLines(out *strings.Builder, title string, lines []client.AudienceLine) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, l := range lines[:min(len(lines), 10)] {
		fmt.Fprintf(table, "  %s\t%s views\t%s\n", forTerminal(l.Name), humanize.Comma(l.Views), hoursAndMinutes(l.WatchedSeconds))
	}
	table.Flush()
}

// hoursAndMinutes writes seconds as 1h02m, 3m05s or 12s.
func hoursAndMinutes(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Hour {
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return d.Round(time.Second).String()
}
