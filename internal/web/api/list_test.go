package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

var someCursor = video.Cursor{CreatedAt: time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC), ID: testID}

// readyState is a video with all fields set.
func readyState() catalog.State {
	v := testVideo(false, video.Ready)
	v.Metadata = json.RawMessage(`{"url":"a&b<c>","n":12345678901234567890}`)
	v.Duration = 2500 * time.Millisecond
	v.Warnings = []video.Warning{video.Warnf(video.Truncated, "It is cut off.")}
	v.Resolutions = []video.Resolution{{Status: video.Ready}}
	return catalog.State{Video: v, Progress: 1, Resolutions: []catalog.ResolutionState{
		{Progress: 1, Resolution: video.Resolution{ID: resolutionID, Name: "720p", Status: video.Ready, Width: 1280, Height: 720, SizeBytes: 1000, Bitrate: 3200}},
		{Progress: 0.5, Resolution: video.Resolution{ID: resolutionID, Name: "144p", Status: video.Fail, Failure: video.Failf(video.LimitTime, "It took too long.")}},
	}}
}

const readyStateJSON = `{"id":"` + testID + `","filename":"a.mp4","title":"A film","status":"ready","isPublic":false,"customMetadata":{"url":"a&b<c>","n":12345678901234567890},"resolutions":{` +
	`"720p":{"id":"` + resolutionID + `","status":"ready","width":1280,"height":720,"sizeBytes":1000,"bitrate":3200,"progress":1},` +
	`"144p":{"id":"` + resolutionID + `","status":"fail","progress":0.5,"failure":{"code":"limit_time","message":"It took too long."}}},` +
	`"createdAt":"2030-01-02T11:00:00Z","durationSeconds":2.5,"progress":1,"playable":true,"warnings":[{"code":"truncated","message":"It is cut off."}]}`

func TestVideoState(t *testing.T) {
	t.Parallel()
	f := &fakeService{state: readyState()}
	w := do(newHandler(t, f, Config{}), request("GET", "/api/video/"+strings.ToUpper(testID), ""))
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != readyStateJSON || f.id != testID {
		t.Errorf("answer about %s is %d\n%s\nwant 200\n%s", f.id, w.Code, got, readyStateJSON)
	}
	checkHeaders(t, w.Header())
}

func withPoster(s catalog.State) catalog.State {
	s.Video.Files = []video.File{{Name: video.PosterFile, Kind: video.PosterKind}}
	return s
}

func TestListVideos(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		state catalog.State
		next  video.Cursor
		want  string
	}{
		{"nothing", catalog.State{}, video.Cursor{}, `{"videos":[]}`},
		{"nothing, but there is more", catalog.State{}, someCursor, `{"videos":[],"nextCursor":"` + someCursor.String() + `"}`},
		{"the last page", readyState(), video.Cursor{}, `{"videos":[` + readyStateJSON + `]}`},
		{"a video with a poster", withPoster(catalog.State{Video: testVideo(true, video.Fail)}), video.Cursor{}, `{"videos":[{"id":"` + testID + `","filename":"a.mp4","title":"A film",` +
			`"status":"fail","isPublic":true,"customMetadata":null,"resolutions":{},"posterUrl":"http://example.com/poster.jpg","createdAt":"2030-01-02T11:00:00Z","progress":0,"playable":false}]}`},
		{"a page before", readyState(), someCursor, `{"videos":[` + readyStateJSON + `],"nextCursor":"` + someCursor.String() + `"}`},
		{"a new video", catalog.State{Video: testVideo(true, video.PendingUpload)}, video.Cursor{}, `{"videos":[{"id":"` + testID + `","filename":"a.mp4","title":"A film",` +
			`"status":"pending_upload","isPublic":true,"customMetadata":null,"resolutions":{},"createdAt":"2030-01-02T11:00:00Z","progress":0,"playable":false}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := do(newHandler(t, &fakeService{state: tt.state, next: tt.next}, Config{}), request("GET", "/api/video", ""))
			if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != tt.want {
				t.Errorf("answer is %d\n%s\nwant 200\n%s", w.Code, got, tt.want)
			}
			checkHeaders(t, w.Header())
		})
	}
}

func TestDecodeList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query string
		want        listQuery
	}{
		{"nothing", "", listQuery{limit: 20}},
		{"a limit", "limit=1", listQuery{limit: 1}},
		{"the largest limit", "limit=100", listQuery{limit: 100}},
		{"a cursor", "cursor=" + someCursor.String(), listQuery{limit: 20, after: someCursor}},
		{"a status", "status=pending_upload", listQuery{limit: 20, filter: video.Filter{Status: video.PendingUpload}}},
		{"labels", "metadata.b=1&metadata.a.c=x+y%26&metadata.a=&metadata.b=2", listQuery{limit: 20, filter: video.Filter{
			Labels: []video.Label{{Key: "a", Value: ""}, {Key: "a.c", Value: "x y&"}, {Key: "b", Value: "1"}, {Key: "b", Value: "2"}}}}},
		{"words", "q=+Summer++B%C3%84R&sort=newest", listQuery{limit: 20, filter: video.Filter{Words: []string{"summer", "bär"}}}},
		{"no words", "q=+", listQuery{limit: 20, filter: video.Filter{Words: []string{}}}},
		{"the oldest first", "sort=oldest&status=fail", listQuery{limit: 20, filter: video.Filter{Status: video.Fail, OldestFirst: true}}},
		{"everything", "limit=7&status=fail&metadata.k=v&cursor=" + someCursor.String(), listQuery{limit: 7, after: someCursor,
			filter: video.Filter{Status: video.Fail, Labels: []video.Label{{Key: "k", Value: "v"}}}}},
		{"unknown parameters", "offset=3&Status=x&meta.a=1&order=up&order=down", listQuery{limit: 20}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fakeService{}
			w := do(newHandler(t, f, Config{}), request("GET", "/api/video?"+tt.query, ""))
			got := listQuery{filter: f.filter, after: f.after, limit: f.limit}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(listQuery{})); w.Code != http.StatusOK || diff != "" {
				t.Errorf("answer is %d %s; query (-want +got):\n%s", w.Code, w.Body, diff)
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
		strings.Repeat("metadata.k=v&", 11):  {"metadata out_of_range"},
		"limit=0&cursor=x&status=x":          {limit, cursor, status},
		"q=" + strings.Repeat("%C3%BC", 201): {"q out_of_range"},
		"q=a&q=b":                            {"q not_allowed"},
		"sort=up":                            {"sort not_allowed"},
		"sort=oldest&sort=oldest":            {"sort not_allowed"},
		"sort=oldest&metadata.k=v":           {"sort not_allowed"},
		"metadata=1":                         {"metadata not_allowed"},
		"metadata[x":                         {"metadata[x not_allowed"},
		"metadata%5Bx%5D=1&metadata.k=v":     {"metadata[x] not_allowed"},
		"metadataX=1":                        {"metadataX not_allowed"},
		"metadata.=1":                        {"metadata. not_allowed"},
		"status=%zz":                         {" malformed_query"},
		"limit=1;cursor=x":                   {" malformed_query"},
		"status=x&" + strings.Repeat("metadata.a=1&", 10) + "": {status},
	}
	f := &fakeService{}
	h := newHandler(t, f, Config{})
	for query, want := range tests {
		t.Run(query, func(t *testing.T) {
			f.calls = 0
			p := wantProblem(t, do(h, request("GET", "/api/video?"+query, "")), 400, "invalid_request")
			if diff := cmp.Diff(want, faultWords(p)); diff != "" || f.calls != 0 {
				t.Errorf("%d calls; faults (-want +got):\n%s", f.calls, diff)
			}
		})
	}
}

func faultWords(p problem.Problem) (words []string) {
	for _, f := range p.Errors {
		words = append(words, f.Field+" "+f.Code)
	}
	return words
}
