package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

var someCursor = video.Cursor{CreatedAt: time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC), ID: testID}

// readyState is a video with all fields set.
func readyState() catalog.State {
	v := testVideo(false, video.Ready)
	v.Metadata = json.RawMessage(`{"url":"a&b<c>","n":12345678901234567890}`)
	v.Duration, v.SizeBytes = 2500*time.Millisecond, 3000
	v.Warnings = []video.Warning{video.Warnf(video.Truncated, "It is cut off.")}
	v.Resolutions = []video.Resolution{{Status: video.Ready}}
	return catalog.State{Video: v, Progress: 1, Resolutions: []catalog.ResolutionState{
		{Progress: 1, Resolution: video.Resolution{ID: resolutionID, Name: "720p", Status: video.Ready, Width: 1280, Height: 720, SizeBytes: 1000, Bitrate: 3200}},
		{Progress: 0.5, Resolution: video.Resolution{ID: resolutionID, Name: "144p", Status: video.Fail, Failure: video.Failf(video.LimitTime, "It took too long.")}},
	}}
}

const readyStateJSON = `{"id":"` + testID + `","filename":"a.mp4","title":"A film","status":"ready","isPublic":false,"customMetadata":{"url":"a&b<c>","n":12345678901234567890},"resolutions":{` +
	`"720p":{"id":"` + resolutionID + `","status":"ready","width":1280,"height":720,"sizeBytes":1000,"bitrate":3200,"method":"encoded","progress":1},` +
	`"144p":{"id":"` + resolutionID + `","status":"fail","progress":0.5,"failure":{"code":"limit_time","message":"It took too long."}}},` +
	`"tags":[],"audioTracks":[],"createdAt":"2030-01-02T11:00:00Z","durationSeconds":2.5,"sizeBytes":3000,"progress":1,"playable":true,"warnings":[{"code":"truncated","message":"It is cut off."}]}`

func TestVideoState(t *testing.T) {
	t.Parallel()
	if got := wire(t, viewState(readyState())); got != readyStateJSON {
		t.Errorf("the state is\n%s\nwant\n%s", got, readyStateJSON)
	}
	r := newRig(t, Config{})
	v := r.Create(video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p"}, IsPublic: true}).Video
	w := do(r.handler, withToken("GET", "/api/video/"+strings.ToUpper(string(v.ID)), r.token(v.ID)))
	want := `{"id":"` + string(v.ID) + `","filename":"a.mp4","title":"a","status":"pending_upload","isPublic":true,"customMetadata":null,` +
		`"resolutions":{"720p":{"id":"` + string(v.Resolutions[0].ID) + `","status":"pending_upload","progress":0}},"tags":[],"audioTracks":[],"createdAt":"2030-01-02T12:00:00Z","sizeBytes":0,"progress":0,"playable":false}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("answer is %d\n%s\nwant 200\n%s", w.Code, got, want)
	}
	checkHeaders(t, w.Header())
}

func TestListVideos(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	list := func(query string) (ids []video.ID, next string, body string) {
		t.Helper()
		w := r.ask("GET", "/api/video"+query, "")
		checkHeaders(t, w.Header())
		var got struct {
			Videos     []struct{ ID video.ID }
			NextCursor string
		}
		r.decode(w, &got)
		for _, v := range got.Videos {
			ids = append(ids, v.ID)
		}
		return ids, got.NextCursor, strings.TrimSpace(w.Body.String())
	}
	if _, _, body := list(""); body != `{"videos":[]}` {
		t.Errorf("a list of nothing is %s", body)
	}
	var all []video.ID // the newest first
	for range 3 {
		r.Advance(time.Second)
		all = append([]video.ID{r.Create(video.Draft{IsPublic: true}).Video.ID}, all...)
	}
	ids, next, body := list("?limit=2")
	if diff := cmp.Diff(all[:2], ids); diff != "" || next == "" || !strings.Contains(body, `"posterUrl":"http://example.com/v/`+string(all[0])+`/poster.jpg"`) {
		t.Errorf("the first page (-want +got):\n%s\n%s", diff, body)
	}
	if ids, next, body := list("?cursor=" + next); len(ids) != 1 || ids[0] != all[2] || next != "" || strings.Contains(body, "nextCursor") {
		t.Errorf("the last page is %s", body)
	}
}

// decodedList returns what a query asks for.
func decodedList(t *testing.T, query string) (listQuery, error) {
	t.Helper()
	q := newListQuery()
	c := &call{request: request("GET", "/api/video?"+query, "")}
	return q, c.query(q.parameters(), q.decodeLabels, q.decodeOrder, q.decodeUnknown)
}

func TestDecodeList(t *testing.T) {
	t.Parallel()
	none := video.Cursor{}
	query := func(limit int, after video.Cursor, f video.Filter) listQuery {
		return listQuery{page: page{limit, after}, filter: f}
	}
	in := func(by video.Sort, ascending bool) listQuery {
		return query(20, none, video.Filter{Order: video.Order{By: by, Ascending: ascending}})
	}
	byTitle := video.Cursor{Order: video.Order{By: video.ByTitle}, Key: "61", ID: testID}
	tests := []struct {
		name, query string
		want        listQuery
	}{
		{"nothing", "", query(20, none, video.Filter{})},
		{"a limit", "limit=1", query(1, none, video.Filter{})},
		{"the largest limit", "limit=100", query(100, none, video.Filter{})},
		{"a cursor", "cursor=" + someCursor.String(), query(20, someCursor, video.Filter{})},
		{"a status", "status=pending_upload", query(20, none, video.Filter{Status: video.PendingUpload})},
		{"labels", "metadata.b=1&metadata.a.c=x+y%26&metadata.a=&metadata.b=2", query(20, none, video.Filter{
			Labels: []video.Label{{Key: "a", Value: ""}, {Key: "a.c", Value: "x y&"}, {Key: "b", Value: "1"}, {Key: "b", Value: "2"}}})},
		{"words", "q=+Summer++B%C3%84R&sort=newest", query(20, none, video.Filter{Words: []string{"summer", "bär"}})},
		{"no words", "q=+", query(20, none, video.Filter{Words: []string{}})},
		{"the oldest first", "sort=oldest&status=fail", query(20, none, video.Filter{Status: video.Fail, Order: video.Order{Ascending: true}})},
		{"the oldest first, by another word", "sort=createdAt&order=asc", in(video.ByCreation, true)},
		{"only a direction", "order=asc", in(video.ByCreation, true)},
		{"the newest first", "sort=createdAt", in(video.ByCreation, false)},
		{"titles", "sort=title", in(video.ByTitle, true)},
		{"titles, the other way", "sort=title&order=desc&cursor=" + byTitle.String(), query(20, byTitle, video.Filter{Order: video.Order{By: video.ByTitle}})},
		{"the longest first", "sort=duration", in(video.ByDuration, false)},
		{"the shortest first", "order=asc&sort=duration", in(video.ByDuration, true)},
		{"the largest first", "sort=size&order=desc", in(video.BySize, false)},
		{"the largest of an album", "sort=size&metadata.album=a", query(20, none, video.Filter{Order: video.Order{By: video.BySize}, Labels: []video.Label{{Key: "album", Value: "a"}}})},
		{"everything", "limit=7&status=fail&metadata.k=v&cursor=" + someCursor.String(), query(7, someCursor,
			video.Filter{Status: video.Fail, Labels: []video.Label{{Key: "k", Value: "v"}}})},
		{"private ones", "isPublic=false", query(20, none, video.Filter{Public: new(false)})},
		{"public ones", "isPublic=true", query(20, none, video.Filter{Public: new(true)})},
		{"a time", "createdAfter=2030-05-01T12:00:00Z&createdBefore=2030-05-01T14:00:00.0005%2B02:00", query(20, none, video.Filter{
			CreatedFrom: time.Date(2030, 5, 1, 12, 0, 0, 1e6, time.UTC), CreatedBefore: time.Date(2030, 5, 1, 12, 0, 0, 1e6, time.UTC)})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodedList(t, tt.query)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(listQuery{}, page{}), cmpopts.IgnoreFields(listQuery{}, "sort", "direction")); err != nil || diff != "" {
				t.Errorf("%v; query (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestListFaults(t *testing.T) {
	t.Parallel()
	const limit, cursor, status = "limit out_of_range", "cursor invalid_cursor", "status not_allowed"
	tests := map[string][]string{
		"limit=0": {limit}, "limit=101": {limit}, "limit=-1": {limit}, "limit=": {limit}, "limit=01": {limit}, "limit=%2B1": {limit},
		"limit=1.0": {limit}, "limit=ten": {limit}, "limit=99999999999999999999": {limit}, "limit=1&limit=2": {"limit not_allowed"},
		"cursor=": {cursor}, "cursor=x": {cursor}, "cursor=" + testID: {cursor}, "cursor=" + someCursor.String() + "A": {cursor},
		"cursor=a&cursor=b": {"cursor not_allowed"},
		"status=":           {status}, "status=Ready": {status}, "status=ready,fail": {status}, "status=deleted": {status}, "status=ready&status=fail": {status},
		strings.Repeat("metadata.k=v&", 11):        {"metadata out_of_range"},
		"limit=0&cursor=x&status=x":                {limit, cursor, status},
		"q=" + strings.Repeat("%C3%BC", 201):       {"q out_of_range"},
		"q=a&q=b":                                  {"q not_allowed"},
		"sort=up":                                  {"sort not_allowed"},
		"sort=oldest&sort=oldest":                  {"sort not_allowed"},
		"order=up":                                 {"order not_allowed"},
		"order=asc&order=asc":                      {"order not_allowed"},
		"sort=oldest&order=desc":                   {"order not_allowed"},
		"sort=newest&order=desc":                   {"order not_allowed"},
		"sort=title&cursor=" + someCursor.String(): {cursor},
		"order=asc&cursor=" + someCursor.String():  {cursor},
		"cursor=" + video.Cursor{Order: video.Order{By: video.BySize}, Key: "1", ID: testID}.String(): {cursor},
		"metadata=1":                           {"metadata not_allowed"},
		"metadata[x":                           {"metadata[x not_allowed"},
		"metadata%5Bx%5D=1&metadata.k=v":       {"metadata[x] not_allowed"},
		"metadataX=1":                          {"metadataX not_allowed"},
		"metadata.=1":                          {"metadata. not_allowed"},
		"offset=3&Status=x&orders=up&meta.a=1": {"Status not_allowed", "meta.a not_allowed", "offset not_allowed", "orders not_allowed"},
		"isPublic=1":                           {"isPublic not_allowed"},
		"isPublic=":                            {"isPublic not_allowed"},
		"createdAfter=yesterday":               {"createdAfter not_allowed"},
		"createdBefore=2030-05-01":             {"createdBefore not_allowed"},
		"createdBefore=":                       {"createdBefore not_allowed"},
		"status=%zz":                           {" malformed_query"},
		"limit=1;cursor=x":                     {" malformed_query"},
		"status=x&" + strings.Repeat("metadata.a=1&", 10): {status},
	}
	r := newRig(t, Config{})
	for query, want := range tests {
		p := wantProblem(t, r.ask("GET", "/api/video?"+query, ""), 400, "invalid_request")
		if diff := cmp.Diff(want, faultWords(p)); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", query, diff)
		}
	}
}
