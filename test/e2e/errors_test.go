package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// nobody is an id that no video has.
const nobody = "01900000-0000-7000-8000-000000000000"

// TestWithoutAKeyNothingIsLearnt sends requests that are wrong in other ways,
// too: the missing key is always what counts.
func TestWithoutAKeyNothingIsLearnt(t *testing.T) {
	oneBackend(t, "keys are checked before anything is read")
	t.Parallel()
	s := shared(t)
	requests := []struct{ method, path, body string }{
		{"POST", "/api/video", `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true}`},
		{"POST", "/api/video", `not JSON`},
		{"POST", "/api/video", strings.Repeat(" ", 2<<20)},
		{"POST", "/api/video/" + nobody + "/complete-upload", ""},
		{"GET", "/api/video", ""},
		{"GET", "/api/video?limit=0", ""},
		{"GET", "/api/video/" + nobody, ""},
		{"GET", "/api/video/" + nobody + "/public", ""},
		{"GET", "/api/video/not-a-uuid/public", ""},
		{"GET", "/api/video/" + nobody + "/private/0", ""},
		{"DELETE", "/api/video/" + nobody, ""},
		{"DELETE", "/api/video/resolution/" + nobody, ""},
		{"PATCH", "/api/video", ""},
		{"GET", "/api/nothing/here", ""},
		{"GET", "/api", ""},
		{"GET", "/api//video", ""},
		{"POST", "/api/video//complete-upload", ""},
	}
	for _, r := range requests {
		t.Run(fmt.Sprintf("%s %.60s %.9s", r.method, r.path, r.body), func(t *testing.T) {
			s := s.in(t)
			s.callAs("", r.method, r.path, r.body).problem(t, http.StatusUnauthorized, "missing_api_key")
			for _, wrong := range []string{"wrong", apiKey + "x", apiKey[1:], strings.ToUpper(apiKey)} {
				s.callAs(wrong, r.method, r.path, r.body).problem(t, http.StatusUnauthorized, "invalid_api_key")
			}
		})
	}
}

// TestRefusals goes through what can be wrong with a request. Each answer is a
// problem that names the request and gives nothing of the server away.
func TestRefusals(t *testing.T) {
	oneBackend(t, "requests are refused before anything is stored")
	t.Parallel()
	s := shared(t)
	valid := `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true}`
	plain := []header{{"Content-Type", "text/plain"}}
	tests := []struct {
		name, method, path, body string
		headers                  []header
		status                   int
		code                     string
	}{
		{"unknown path of the API", "GET", "/api/nothing", "", nil, 404, "not_found"},
		{"unknown path", "GET", "/nothing/here", "", nil, 404, "not_found"},
		{"unknown playback path", "GET", "/v/a/b/c/d", "", nil, 404, "not_found"},
		{"unknown page of the docs", "GET", "/docs/nothing", "", nil, 404, "not_found"},
		{"a path of the API that is not clean", "GET", "/api/video//public", "", nil, 404, "not_found"},
		{"a path that is not clean", "GET", "//nothing", "", nil, 404, "not_found"},
		{"another method", "PUT", "/api/video", valid, nil, 405, "method_not_allowed"},
		{"another method of a video", "POST", "/api/video/" + nobody, "", nil, 405, "method_not_allowed"},
		{"another method of the description", "POST", "/openapi.json", "", nil, 405, "method_not_allowed"},
		{"another method of playback", "POST", "/v/" + nobody + "/144p.mp4", "", nil, 405, "method_not_allowed"},
		{"another method of a probe", "POST", "/healthz", "", nil, 405, "method_not_allowed"},
		{"not JSON by its type", "POST", "/api/video", valid, plain, 415, "unsupported_media_type"},
		{"a completion that is not JSON", "POST", "/api/video/" + nobody + "/complete-upload", "x=1", plain, 415, "unsupported_media_type"},
		{"a large body", "POST", "/api/video", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "body_too_large"},
		{"malformed JSON", "POST", "/api/video", `{"filename":`, nil, 400, "invalid_request"},
		{"a list instead of an object", "POST", "/api/video", `[]`, nil, 400, "invalid_request"},
		{"an empty body", "POST", "/api/video", ` `, nil, 400, "invalid_request"},
		{"no uuid", "GET", "/api/video/42/public", "", nil, 400, "invalid_request"},
		{"no uuid of a state", "GET", "/api/video/42", "", nil, 400, "invalid_request"},
		{"a list of too many", "GET", "/api/video?limit=101", "", nil, 400, "invalid_request"},
		{"a list from nowhere", "GET", "/api/video?cursor=nowhere", "", nil, 400, "invalid_request"},
		{"a list of another status", "GET", "/api/video?status=deleted", "", nil, 400, "invalid_request"},
		{"unknown video", "GET", "/api/video/" + nobody, "", nil, 404, "video_not_found"},
		{"no uuid to delete", "DELETE", "/api/video/42", "", nil, 400, "invalid_request"},
		{"no uuid of a resolution", "DELETE", "/api/video/resolution/42", "", nil, 400, "invalid_request"},
		{"no uuid to complete", "POST", "/api/video/42/complete-upload", "", nil, 400, "invalid_request"},
		{"a checksum that is none", "POST", "/api/video/" + nobody + "/complete-upload", `{"checksum":1}`, nil, 400, "invalid_request"},
		{"unknown public video", "GET", "/api/video/" + nobody + "/public", "", nil, 404, "video_not_found"},
		{"unknown private video", "GET", "/api/video/" + nobody + "/private/60", "", nil, 404, "video_not_found"},
		{"unknown video to complete", "POST", "/api/video/" + nobody + "/complete-upload", "", nil, 404, "video_not_found"},
		{"unknown video to delete", "DELETE", "/api/video/" + nobody, "", nil, 404, "video_not_found"},
		{"unknown resolution", "DELETE", "/api/video/resolution/" + nobody, "", nil, 404, "resolution_not_found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body any
			if tt.body != "" {
				body = tt.body
			}
			r := s.in(t).call(tt.method, tt.path, body, tt.headers...)
			checkRefusal(t, r, r.problem(t, tt.status, tt.code), s.dataDir)
			if tt.status == http.StatusMethodNotAllowed && r.header.Get("Allow") == "" {
				t.Errorf("405 comes without Allow")
			}
		})
	}
}

func checkRefusal(t testing.TB, r reply, p problem, dataDir string) {
	t.Helper()
	if id := r.header.Get("X-Request-Id"); id == "" || id != p.RequestID {
		t.Errorf("requestId is %q, the header X-Request-Id %q", p.RequestID, id)
	}
	for _, secret := range []string{dataDir, "SELECT", "goroutine", ".go:", "sqlite", "postgres", "pgx", "X-Amz"} {
		if strings.Contains(string(r.body), secret) {
			t.Errorf("the refusal shows %q: %s", secret, r.body)
		}
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	oneBackend(t, "requests are refused before anything is stored")
	t.Parallel()
	s := shared(t)
	body := `{"filename":"","resolutions":["144p","145p",7],"isPublic":"yes","thumbnailTimestampsSeconds":[0,-1,"x"],"customMetadata":[]}`
	p := s.call("POST", "/api/video", body).problem(t, http.StatusBadRequest, "invalid_request")
	var got []string
	for _, f := range p.Errors {
		got = append(got, f.Field+" "+f.Code)
		if f.Message == "" {
			t.Errorf("%s has no message", f.Field)
		}
	}
	slices.Sort(got)
	want := []string{"customMetadata wrong_type", "filename out_of_range", "isPublic wrong_type",
		"resolutions[1] not_allowed", "resolutions[2] wrong_type",
		"thumbnailTimestampsSeconds[1] out_of_range", "thumbnailTimestampsSeconds[2] wrong_type"}
	if !slices.Equal(got, want) {
		t.Errorf("the faults are %q, want %q", got, want)
	}
}

// TestLimitsOfTheFields tries values on both sides of each limit.
func TestLimitsOfTheFields(t *testing.T) {
	oneBackend(t, "fields are checked before anything is stored")
	t.Parallel()
	s := shared(t)
	with := func(fields string) string {
		return `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,` + fields + `}`
	}
	named := func(name string) string {
		return `{"filename":"` + name + `","resolutions":["144p"],"isPublic":true}`
	}
	metadata := func(bytes int) string {
		return with(`"customMetadata":{"x":"` + strings.Repeat("x", bytes-len(`{"x":""}`)) + `"}`)
	}
	stamps := func(n int) string {
		return with(`"thumbnailTimestampsSeconds":[0` + strings.Repeat(",1.5", n-1) + `]`)
	}
	tests := []struct {
		name, body, field string
	}{
		{"a filename of 255 characters", named(strings.Repeat("ü", 255)), ""},
		{"a filename of 256 characters", named(strings.Repeat("ü", 256)), "filename"},
		{"metadata of 16 KiB", metadata(16 << 10), ""},
		{"metadata of a byte more", metadata(16<<10 + 1), "customMetadata"},
		{"50 timestamps", stamps(50), ""},
		{"51 timestamps", stamps(51), "thumbnailTimestampsSeconds"},
		{"unknown fields", with(`"unknown":{"deep":[1]}`), ""},
		{"no resolution", `{"filename":"a.mp4","resolutions":[],"isPublic":true}`, "resolutions"},
		{"no visibility", `{"filename":"a.mp4","resolutions":["144p"]}`, "isPublic"},
		{"every resolution", `{"filename":"a.mp4","resolutions":["144p","240p","360p","480p","720p","1080p","1440p","4k","8k"],"isPublic":false}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := s.in(t).call("POST", "/api/video", tt.body)
			if tt.field == "" {
				decode[upload](t, r, http.StatusCreated)
				return
			}
			p := r.problem(t, http.StatusBadRequest, "invalid_request")
			if len(p.Errors) != 1 || p.Errors[0].Field != tt.field {
				t.Errorf("the faults are %+v, want one of %s", p.Errors, tt.field)
			}
		})
	}
}

func TestLifeOfPrivateAddressesIsChecked(t *testing.T) {
	oneBackend(t, "requests are refused before anything is read")
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	for _, seconds := range []string{"0", "-1", "31536001", "1.5", "1e3", "abc", "99999999999999999999", "%20", "+60", "060"} {
		p := s.call("GET", "/api/video/"+u.ID+"/private/"+seconds, nil).problem(t, http.StatusBadRequest, "invalid_request")
		if len(p.Errors) != 1 || p.Errors[0].Field != "expirationSeconds" {
			t.Errorf("%s: the faults are %+v, want one of expirationSeconds", seconds, p.Errors)
		}
	}
	for _, seconds := range []int{1, 31536000} {
		decode[watch](t, s.readPrivate(u.ID, seconds), http.StatusOK)
	}
}
