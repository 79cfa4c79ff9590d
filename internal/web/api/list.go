package api

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

// listRoutes are the list of videos.
type listRoutes struct{ catalog *catalog.Catalog }

func (r listRoutes) register(t *table) {
	q := newListQuery()
	add(t, operation{
		id: "listVideos", route: "GET /api/video", summary: "List videos", tag: "video",
		scopes: []auth.Scope{auth.Read}, status: 200, costly: true, parameters: append(described(q.parameters()), describedTags(), labels()),
	}, r.list)
}

// videoList answers a list request.
type videoList struct {
	Videos     []videoStateView `json:"videos" nullable:"false" doc:"Newest first, unless sort and order say otherwise."`
	NextCursor string           `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

func (r listRoutes) list(ctx context.Context, c *call) (*videoList, error) {
	q := newListQuery()
	if err := c.query(q.parameters(), q.decodeTags, q.decodeLabels, q.decodeOrder, q.decodeUnknown); err != nil {
		return nil, err
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	found, err := r.catalog.List(ctx, c.actor, q.filter, q.after, q.limit)
	if err != nil {
		return nil, err
	}
	out := &videoList{Videos: make([]videoStateView, len(found.Videos)), NextCursor: nextCursor(found.Next)}
	for i, s := range found.Videos {
		out.Videos[i] = viewState(s)
		out.Videos[i].Matches = viewMatches(s.Matches)
		out.Videos[i].VideoFiles = viewVideoFiles(r.catalog.FileURLs(s.Video, base))
	}
	return out, nil
}

// listQuery is what a list of videos is asked for.
type listQuery struct {
	page
	filter    video.Filter
	sort      string
	direction string // "": the usual one of the sort
}

func newListQuery() listQuery { return listQuery{page: newPage()} }

// The sorts of a list that are orders themselves: they were there before the others.
const (
	sortNewest = "newest"
	sortOldest = "oldest"
)

// sortNames are the sorts of a list, and listSorts the orders that they mean without a direction.
var (
	sortNames = []string{"createdAt", "title", "duration", "size", sortNewest, sortOldest}
	listSorts = map[string]video.Order{
		"createdAt": {}, "title": {By: video.ByTitle, Ascending: true}, "duration": {By: video.ByDuration}, "size": {By: video.BySize},
		sortNewest: {}, sortOldest: {Ascending: true},
	}
)

// The directions of a list.
const (
	ascending  = "asc"
	descending = "desc"
)

// labelPrefix is the prefix of parameters that filter by metadata.
const labelPrefix = "metadata."

func (q *listQuery) parameters() []parameter {
	return []parameter{
		limitParameter(&q.limit, "videos"),
		cursorParameter("the first videos", func(s string) []video.Fault {
			var err error
			q.after, err = video.ParseCursor("cursor", s)
			return faultsIn(err)
		}),
		oneOf("status", "Only videos with this status.", &q.filter.Status, video.Statuses),
		{
			name: "q", decode: q.decodeWords, schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(video.MaxWanted)},
			doc: "Only videos whose title or filename has all of these words, or parts of words, in it; case does not matter. " +
				"A page of such a search may have few videos, or none, and a nextCursor: continue with it.",
		},
		{
			name: "said", decode: q.decodeSaid, schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(video.MaxWanted)},
			doc: "Only videos in whose captions all of these words are said, in one cue or in neighbouring ones; case and accents do not matter. " +
				"matches tells where. The order is createdAt. A page of such a search may have few videos, or none, and a nextCursor: continue with it.",
		},
		{
			name: "isPublic", decode: q.decodePublic, schema: &huma.Schema{Type: huma.TypeBoolean},
			doc: "Only public videos, or only private ones. A page of such a list may have few videos, or none, and a nextCursor: continue with it.",
		},
		timeParameter("createdAfter", "Only videos that were created after this time.", func(at time.Time) {
			q.filter.CreatedFrom = at.Truncate(time.Millisecond).Add(time.Millisecond)
		}),
		timeParameter("createdBefore", "Only videos that were created before this time.", func(at time.Time) {
			q.filter.CreatedBefore = at.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		}),
		{
			name: "sort", decode: q.decodeSort, schema: &huma.Schema{Type: huma.TypeString, Enum: enum(sortNames), Default: sortNames[0]},
			doc: "What the videos are ordered by; of a title, case and accents do not matter. newest and oldest are createdAt in one of its directions. " +
				"A cursor belongs to the order that it was made in. In other orders than createdAt, a page of a list with any filter may have few videos, or none, and a nextCursor: continue with it.",
		},
		{
			name: "order", decode: q.decodeDirection, schema: &huma.Schema{Type: huma.TypeString, Enum: enum([]string{ascending, descending})},
			doc: "Which end comes first: the smallest or the largest. Absent: asc for title, desc for everything else.",
		},
	}
}

// labels describes the filter by metadata, whose parameters have names that clients choose.
func labels() *huma.Param {
	return &huma.Param{Name: "metadata", In: "query", Style: "form", Explode: new(true),
		Description: "metadata.KEY=VALUE: only videos whose customMetadata has VALUE under KEY; if there are several, all must match. " +
			"A page of such a search may have few videos, or none, and a nextCursor: continue with it.",
		Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}, Extensions: map[string]any{
			"propertyNames": map[string]any{"pattern": `^metadata\.`}}}}
}

func (q *listQuery) decodeWords(s string) []video.Fault {
	if utf8.RuneCountInString(s) > video.MaxWanted {
		return []video.Fault{{Field: "q", Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters", video.MaxWanted)}}
	}
	q.filter.Words = video.Words(s)
	return nil
}

func (q *listQuery) decodeSaid(s string) []video.Fault {
	q.filter.Said = s
	if utf8.RuneCountInString(s) > video.MaxWanted {
		return []video.Fault{{Field: "said", Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters", video.MaxWanted)}}
	}
	if _, ok := words.Parse(s); !ok {
		return []video.Fault{{Field: "said", Code: "out_of_range", Message: "must have a word"}}
	}
	return nil
}

func (q *listQuery) decodePublic(s string) []video.Fault {
	public := s == "true"
	if !public && s != "false" {
		return []video.Fault{{Field: "isPublic", Code: "not_allowed", Message: "must be true or false"}}
	}
	q.filter.Public = &public
	return nil
}

func (q *listQuery) decodeSort(s string) []video.Fault {
	q.sort = s
	if _, known := listSorts[s]; !known {
		return []video.Fault{{Field: "sort", Code: "not_allowed", Message: fmt.Sprintf("must be one of %v", sortNames)}}
	}
	return nil
}

func (q *listQuery) decodeDirection(s string) []video.Fault {
	q.direction = s
	if s != ascending && s != descending {
		return []video.Fault{{Field: "order", Code: "not_allowed", Message: "must be asc or desc"}}
	}
	return nil
}

// decodeOrder combines what was given of the order.
func (q *listQuery) decodeOrder(url.Values) (faults []video.Fault) {
	q.filter.Order = listSorts[q.sort]
	if q.direction != "" {
		q.filter.Order.Ascending = q.direction == ascending
		if q.sort == sortNewest || q.sort == sortOldest {
			faults = append(faults, video.Fault{Field: "order", Code: "not_allowed", Message: "cannot be combined with newest and oldest, which are orders themselves"})
		}
	}
	if q.filter.Said != "" {
		if q.filter.Order.By != video.ByCreation {
			faults = append(faults, video.Fault{Field: "sort", Code: "not_allowed", Message: "must be createdAt, newest or oldest together with said"})
		}
		q.filter.Order.By = video.BySaid
	}
	if q.after != (video.Cursor{}) && q.after.Order != q.filter.Order {
		faults = append(faults, wrongOrder())
	}
	return faults
}

// shortened returns the beginning of a name that a client chose.
func shortened(name string) string {
	const most = 100
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

func (q *listQuery) decodeLabels(values url.Values) []video.Fault {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, ok := strings.CutPrefix(name, labelPrefix)
		if !ok || key == "" {
			continue
		}
		for _, value := range values[name] {
			q.filter.Labels = append(q.filter.Labels, video.Label{Key: key, Value: value})
		}
	}
	if n := len(q.filter.Labels); n > video.MaxLabels {
		return []video.Fault{{Field: "metadata", Code: "out_of_range", Message: fmt.Sprintf("must be asked for at most %d times, is %d times", video.MaxLabels, n)}}
	}
	return nil
}

// decodeUnknown refuses parameters that the list does not know: a mistyped filter must not return everything.
func (q *listQuery) decodeUnknown(values url.Values) (faults []video.Fault) {
	known := []string{tagParameter}
	for _, p := range q.parameters() {
		known = append(known, p.name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch key, isLabel := strings.CutPrefix(name, labelPrefix); {
		case slices.Contains(known, name), isLabel && key != "":
		case strings.HasPrefix(name, "metadata"):
			faults = append(faults, video.Fault{Field: shortened(name), Code: "not_allowed", Message: "is no filter; write metadata.KEY=VALUE"})
		default:
			faults = append(faults, video.Fault{Field: shortened(name), Code: "not_allowed",
				Message: "is no parameter of this list, which knows " + strings.Join(known, ", ") + " and metadata.KEY"})
		}
	}
	return faults
}
