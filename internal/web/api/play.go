package api

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// Players of people without a key tell here what was watched. A page of any site may do so: the address of a video is all
// that it needs.

const (
	// playPath is what the paths of reports begin with. They are below /api, and need no key.
	playPath = "/api/play/"
	// maxPlay is how long a report may be, and maxEvents a body with reports by CMCD.
	maxPlay   = 4 << 10
	maxEvents = 64 << 10
	// playsPerSecond is how many reports an address may send in a second, in the long run: as 400 viewers do.
	playsPerSecond = 20
	playBurst      = 200
)

// plays are the operations that players call.
type plays struct {
	audience *audience.Service
	rates    *limit.Rates[netip.Prefix]
	client   func(*http.Request) netip.Prefix
}

func newPlays(s *audience.Service, client func(*http.Request) netip.Prefix) *plays {
	return &plays{s, limit.NewRates[netip.Prefix](playsPerSecond, playBurst, time.Now), client}
}

// Register adds the routes to mux.
func (p *plays) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+playPath+"{id}", p.answer(p.play))
	mux.HandleFunc("OPTIONS "+playPath+"{id}", allowReports)
	mux.HandleFunc("POST /cmcd", p.answer(p.events))
	mux.HandleFunc("OPTIONS /cmcd", allowReports)
}

// describe adds the operations to the description.
func (p *plays) register(t *table) {
	open := func(op *huma.Operation) { op.Security = []map[string][]string{{}} }
	token := &huma.Param{Name: tokenParameter, In: "query", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Of a private video: the signed part of its hlsUrl (the element of the path before the id), or a token for the video."}
	t.describe(&operation{
		id: "reportPlay", route: "POST " + playPath + "{id}", summary: "Tell what was watched; for players, without a key", tag: "audience",
		notes:  "Players send it when the first second was watched, every 20 seconds, and when the page is left. docs/audience.md says how it is counted.",
		status: 204, errors: []int{404, 413, 415}, parameters: []*huma.Param{videoID(), token},
		describe: func(op *huma.Operation, _ huma.Registry) { open(op) },
	}, reflect.TypeFor[playReport](), reflect.TypeFor[nothing]())
	t.describe(&operation{
		id: "reportCMCD", route: "POST /cmcd", summary: "Tell what was watched, by CMCD version 2; for players, without a key", tag: "audience",
		notes:  "Reports in event mode, a line each, whose cid is the id of the video. A report that makes no sense, or is about a video that the sender may not watch, is passed over.",
		status: 204, errors: []int{413, 415}, parameters: []*huma.Param{token},
		describe: func(op *huma.Operation, _ huma.Registry) {
			open(op)
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/cmcd": {Schema: &huma.Schema{Type: huma.TypeString}}}}
		},
	}, nil, reflect.TypeFor[nothing]())
}

// answer limits what one address may send, and answers for errors.
func (p *plays) answer(next func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "no-store")
		var err error = &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: time.Minute, Msg: "Too many reports come from your address."}
		if p.rates.Allow(p.client(r), 1) {
			err = next(r)
		}
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func allowReports(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "POST")
	h.Set("Access-Control-Allow-Headers", "Content-Type")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// playReport is what a player tells of one session since its report before.
type playReport struct {
	Session        string        `json:"session" minLength:"8" maxLength:"64" doc:"A random text that the player made for this playing. It is not stored."`
	Sequence       int           `json:"sequence" minimum:"0" maximum:"1000000" doc:"Counts the reports of a session, from 0."`
	TotalSeconds   float64       `json:"totalSeconds" minimum:"0" doc:"How long was watched in this session, with this report. A view begins when it reaches 1."`
	Watched        []playQuality `json:"watched,omitempty" maxItems:"16" nullable:"false" doc:"What was watched since the report before, by the clock: of what was paused, nothing."`
	Parts          []int         `json:"parts,omitempty" maxItems:"100" minimum:"0" maximum:"99" nullable:"false" doc:"The hundredths of the film, counted from 0, that were seen for the first time in this session."`
	Completed      bool          `json:"completed,omitempty" doc:"95 % of the film was reached for the first time."`
	StartupSeconds float64       `json:"startupSeconds,omitempty" minimum:"0" maximum:"600" doc:"From the wish to play to the first picture; once in a session."`
	Stalls         int           `json:"stalls,omitempty" minimum:"0" maximum:"1000" doc:"How often playing stopped to wait for data, seeking aside."`
	StalledSeconds float64       `json:"stalledSeconds,omitempty" minimum:"0" maximum:"3600" doc:"How long that took."`
	Failed         bool          `json:"failed,omitempty" doc:"Playing ended with an error."`
	Referrer       string        `json:"referrer,omitempty" maxLength:"253" doc:"The host of the page that led to the video, or that shows it. Absent: none."`
}

type playQuality struct {
	Quality string  `json:"quality,omitempty" maxLength:"32" doc:"The name of a resolution; another one is not counted by name."`
	Seconds float64 `json:"seconds" minimum:"0" maximum:"3600"`
	First   bool    `json:"first,omitempty" doc:"The quality is seen for the first time in this session."`
}

// check implements checker.
func (r *playReport) check() (faults []video.Fault) {
	refuse := func(field, message string) {
		faults = append(faults, video.Fault{Field: field, Code: "out_of_range", Message: message})
	}
	if n := len(r.Session); n < 8 || n > 64 {
		refuse("session", "must have 8 to 64 characters")
	}
	for _, one := range []struct {
		field string
		n     float64
		most  float64
	}{{"totalSeconds", r.TotalSeconds, 1e7}, {"startupSeconds", r.StartupSeconds, 600}, {"stalledSeconds", r.StalledSeconds, 3600}} {
		if !(one.n >= 0 && one.n <= one.most) {
			refuse(one.field, fmt.Sprintf("must be from 0 to %.0f", one.most))
		}
	}
	for i, w := range r.Watched {
		if !(w.Seconds >= 0 && w.Seconds <= 3600) {
			refuse(fmt.Sprintf("watched[%d].seconds", i), "must be from 0 to 3600")
		}
	}
	if r.Referrer != "" && !audience.IsHost(r.Referrer) {
		refuse("referrer", "must be the name of a host, in lower case")
	}
	return faults
}

func (r *playReport) report() audience.Report {
	out := audience.Report{
		Session: r.Session, Sequence: r.Sequence, Total: secondsOf(r.TotalSeconds), Parts: r.Parts, Completed: r.Completed,
		Startup: secondsOf(r.StartupSeconds), Stalls: r.Stalls, Stalled: secondsOf(r.StalledSeconds), Failed: r.Failed, Referrer: r.Referrer,
	}
	for _, w := range r.Watched {
		name := video.Name(w.Quality)
		if !slices.Contains(video.Names, name) {
			name = ""
		}
		out.Watched = append(out.Watched, audience.Watched{Quality: name, Time: secondsOf(w.Seconds), First: w.First})
	}
	return out
}

func secondsOf(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// play answers POST /api/play/{id}.
func (p *plays) play(r *http.Request) error {
	id, err := video.ParseID("id", r.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := readReport(r, maxPlay, "application/json", "text/plain") // a page that is left may send text alone to another site
	if err != nil {
		return err
	}
	var in playReport
	faults, err := decodeBody(bytes.TrimSpace(body), &in)
	if err == nil {
		err = invalidFields(faults)
	}
	if err != nil {
		return err
	}
	return p.audience.Play(r.Context(), id, r.URL.Query().Get(tokenParameter), p.visitor(r), in.report())
}

// events answers POST /cmcd.
func (p *plays) events(r *http.Request) error {
	body, err := readReport(r, maxEvents, "application/cmcd", "text/plain")
	if err != nil {
		return err
	}
	var all []audience.CMCD
	for line := range bytes.Lines(body) {
		if len(all) == audience.MaxEvents {
			return &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: fmt.Sprintf("The body must have at most %d reports.", audience.MaxEvents)}
		}
		if one, ok := audience.ParseCMCD(strings.TrimSpace(string(line))); ok {
			all = append(all, one)
		}
	}
	return p.audience.Events(r.Context(), r.URL.Query().Get(tokenParameter), p.visitor(r), all)
}

// readReport returns the body of a request, which must be short and of one of these types.
func readReport(r *http.Request, most int64, types ...string) ([]byte, error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil && r.Header.Get("Content-Type") != "" || t != "" && !slices.Contains(types, t) {
		return nil, &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type", Msg: "The request body must be " + types[0] + "."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	if err != nil {
		return nil, bodyError(err)
	}
	return body, nil
}

// visitor returns who sends a request.
func (p *plays) visitor(r *http.Request) audience.Visitor { return audience.VisitorOf(r, p.client(r)) }
