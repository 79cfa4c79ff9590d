package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// videoStateView is a video without the URLs of its resolutions: an entry of the list.
type videoStateView struct {
	ID       video.ID `json:"id" format:"uuid"`
	Filename string   `json:"filename"`
	VideoBasics[resolutionStateView]
	VideoFiles // in lists only: a state, which events have too, is the same for every client
	VideoDetails
}

type resolutionStateView struct {
	ID     video.ResolutionID `json:"id" format:"uuid"`
	Status video.Status       `json:"status" enum:"pending_upload,processing,ready,fail"`
	ResolutionDetails
}

// videoList answers a list request.
type videoList struct {
	Videos     []videoStateView `json:"videos" nullable:"false" doc:"Newest first, unless sort says otherwise."`
	NextCursor string           `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

func viewState(s catalog.State) videoStateView {
	v := s.Video
	out := videoStateView{
		ID: v.ID, Filename: v.Filename, VideoBasics: viewVideoBasics[resolutionStateView](v),
		VideoDetails: viewVideoDetails(s),
	}
	for _, r := range s.Resolutions {
		out.Resolutions = append(out.Resolutions, named[resolutionStateView]{r.Name, resolutionStateView{
			ID: r.ID, Status: r.Status, ResolutionDetails: viewResolutionDetails(r, "", nil),
		}})
	}
	return out
}

func (a *API) videoState(ctx context.Context, c *call, id video.ID) (*answer[videoStateView], error) {
	s, err := a.services.Catalog.State(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	return &answer[videoStateView]{viewState(s)}, nil
}

func (a *API) listVideos(ctx context.Context, c *call, _ *nothing) (*answer[videoList], error) {
	q, err := decodeList(c.request)
	if err != nil {
		return nil, err
	}
	base, err := a.config.base(c.request)
	if err != nil {
		return nil, err
	}
	page, err := a.list(ctx, c, q)
	if err != nil {
		return nil, err
	}
	out := videoList{Videos: make([]videoStateView, len(page.Videos))}
	for i, s := range page.Videos {
		out.Videos[i] = viewState(s)
		out.Videos[i].VideoFiles = viewVideoFiles(a.services.Catalog.FileURLs(s.Video, base))
	}
	if page.Next != (video.Cursor{}) {
		out.NextCursor = page.Next.String()
	}
	return &answer[videoList]{out}, nil
}

// maxSearches and maxSearchesPerKey are how many lists with a filter of metadata or words are made at once.
// Usually an index answers them, within milliseconds. Metadata that is not indexed is read and
// parsed, which keeps a core busy.
const (
	maxSearches       = 4
	maxSearchesPerKey = 2
)

func newSearchSlots() *slots {
	return newSlots(maxSearches, maxSearchesPerKey, "This API key makes too many searches at once.",
		"The server makes as many searches as it can. Try again later.")
}

// maxLists is how many other lists are made at once. A page can have megabytes of metadata, and reading
// and encoding them keeps a core busy, so a key may use half of the cores for it.
const maxLists = 64

func maxListsPerKey() int64 { return int64(max(1, runtime.GOMAXPROCS(0)/2)) }

func newListSlots() *slots {
	return newSlots(maxLists, maxListsPerKey(), "This API key reads too many lists at once.",
		"The server reads as many lists as it can. Try again later.")
}

// list reads a page. It waits for a slot first, which the call keeps.
func (a *API) list(ctx context.Context, c *call, q listQuery) (catalog.Page, error) {
	slots := a.lists
	if len(q.filter.Labels) > 0 || len(q.filter.Words) > 0 {
		slots = a.searches
	}
	release, err := slots.acquire(ctx, c.actor.KeyID)
	if err != nil {
		return catalog.Page{}, err
	}
	began := time.Now()
	c.holdSlot(func() { releaseRested(release, time.Since(began)) })
	return a.services.Catalog.List(ctx, c.actor, q.filter, q.after, q.limit)
}

// releaseRested releases a slot that was in use for a time. After more than a moment the slot rests
// for as long, so that one key with large pages never keeps a core busy.
func releaseRested(release func(), worked time.Duration) {
	const moment, longest = 5 * time.Millisecond, time.Second
	if worked < moment {
		release()
		return
	}
	time.AfterFunc(min(worked, longest), release)
}

// listQuery is a decoded list request.
type listQuery struct {
	filter video.Filter
	after  video.Cursor
	limit  int
}

// The orders of a list.
const (
	sortNewest = "newest"
	sortOldest = "oldest"
)

// labelPrefix is the prefix of parameters that filter by metadata.
const labelPrefix = "metadata."

// decodeList decodes the query of a list request. It reports all faults at once. Unknown
// parameters are ignored, unless they look like a filter of metadata.
func decodeList(r *http.Request) (listQuery, error) {
	q := listQuery{limit: video.DefaultPage}
	err := decodeQuery(r, func(values url.Values) []video.Fault {
		return slices.Concat(
			decodeParameter(values, "limit", q.decodeLimit),
			decodeParameter(values, "cursor", q.decodeCursor),
			decodeParameter(values, "status", q.decodeStatus),
			decodeParameter(values, "q", q.decodeWords),
			decodeParameter(values, "sort", q.decodeSort),
			q.decodeLabels(values),
		)
	})
	if err != nil {
		return listQuery{}, err
	}
	return q, nil
}

// decodeQuery has the query of a list decoded.
func decodeQuery(r *http.Request, decode func(url.Values) []video.Fault) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return video.InvalidFields(video.Fault{Code: "malformed_query", Message: "the query of the address cannot be read"})
	}
	if faults := decode(values); len(faults) > 0 {
		return video.InvalidFields(faults...)
	}
	return nil
}

// decodeParameter decodes a parameter that may occur at most once.
func decodeParameter(values url.Values, name string, decode func(string) []video.Fault) []video.Fault {
	switch all := values[name]; len(all) {
	case 0:
		return nil
	case 1:
		return decode(all[0])
	default:
		return []video.Fault{{Field: name, Code: "not_allowed", Message: "must be given once"}}
	}
}

func (q *listQuery) decodeLimit(s string) []video.Fault {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > video.MaxPage || strconv.Itoa(n) != s {
		return []video.Fault{{Field: "limit", Code: "out_of_range", Message: fmt.Sprintf("must be a whole number from 1 to %d", video.MaxPage)}}
	}
	q.limit = n
	return nil
}

func (q *listQuery) decodeCursor(s string) []video.Fault {
	cursor, err := video.ParseCursor("cursor", s)
	q.after = cursor
	return faultsIn(err)
}

func (q *listQuery) decodeStatus(s string) []video.Fault {
	q.filter.Status = video.Status(s)
	if !slices.Contains(video.Statuses, q.filter.Status) {
		return []video.Fault{{Field: "status", Code: "not_allowed", Message: fmt.Sprintf("must be one of %v", video.Statuses)}}
	}
	return nil
}

func (q *listQuery) decodeWords(s string) []video.Fault {
	if utf8.RuneCountInString(s) > video.MaxWanted {
		return []video.Fault{{Field: "q", Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters", video.MaxWanted)}}
	}
	q.filter.Words = video.Words(s)
	return nil
}

func (q *listQuery) decodeSort(s string) []video.Fault {
	q.filter.OldestFirst = s == sortOldest
	if s != sortNewest && s != sortOldest {
		return []video.Fault{{Field: "sort", Code: "not_allowed", Message: "must be newest or oldest"}}
	}
	return nil
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
			if strings.HasPrefix(name, "metadata") { // a mistyped filter must not return everything
				return []video.Fault{{Field: shortened(name), Code: "not_allowed", Message: "is no filter; write metadata.KEY=VALUE"}}
			}
			continue
		}
		for _, value := range values[name] {
			q.filter.Labels = append(q.filter.Labels, video.Label{Key: key, Value: value})
		}
	}
	if len(q.filter.Labels) > 0 && q.filter.OldestFirst {
		return []video.Fault{{Field: "sort", Code: "not_allowed", Message: "must be newest for a search by metadata"}}
	}
	if n := len(q.filter.Labels); n > video.MaxLabels {
		return []video.Fault{{Field: "metadata", Code: "out_of_range", Message: fmt.Sprintf("must be asked for at most %d times, is %d times", video.MaxLabels, n)}}
	}
	return nil
}

// listOperation describes the list. Its parameters are described by hand, because clients
// choose the names of some.
func listOperation(r huma.Registry) huma.Operation {
	op := operation(r, "listVideos", "GET /api/video", 200, "List videos", nil)
	first, last := 1.0, float64(video.MaxPage)
	text := &huma.Schema{Type: huma.TypeString}
	op.Parameters = []*huma.Param{
		{Name: "limit", In: "query", Description: "How many videos at most.",
			Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &first, Maximum: &last, Default: video.DefaultPage}},
		{Name: "cursor", In: "query", Description: "The nextCursor of the page before; absent: the newest videos.", Schema: text},
		{Name: "status", In: "query", Description: "Only videos with this status.", Schema: &huma.Schema{Type: huma.TypeString, Enum: enum(video.Statuses)}},
		{Name: "q", In: "query", Description: "Only videos whose title or filename has all of these words, or parts of words, in it; case does not matter. " +
			"A page of such a search may have few videos, or none, and a nextCursor: continue with it.",
			Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(video.MaxWanted)}},
		{Name: "sort", In: "query", Description: "The order; oldest cannot be combined with metadata. A cursor belongs to the order that it was made in.",
			Schema: &huma.Schema{Type: huma.TypeString, Enum: enum([]string{sortNewest, sortOldest}), Default: sortNewest}},
		{Name: "metadata", In: "query", Style: "form", Explode: new(true),
			Description: "metadata.KEY=VALUE: only videos whose customMetadata has VALUE under KEY; if there are several, all must match. " +
				"A page of such a search may have few videos, or none, and a nextCursor: continue with it.",
			Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: text, Extensions: map[string]any{
				"propertyNames": map[string]any{"pattern": `^metadata\.`}}}},
	}
	return op
}
