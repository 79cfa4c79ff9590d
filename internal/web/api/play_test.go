package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// tell sends a report as a page of another site does.
func (r *rig) tell(path, contentType, body string, headers ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest("POST", path, strings.NewReader(body))
	q.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	return do(r.handler, q)
}

// audienceOf returns what is known of a video's audience.
func (r *rig) audienceOf(id video.ID) (out videoAudience) {
	r.T.Helper()
	r.Must(r.Audience.Flush(r.T.Context()))
	r.decode(r.ask("GET", "/api/video/"+string(id)+"/audience", ""), &out)
	return out
}

const firstReport = `{"session":"session-%d","sequence":0,"totalSeconds":2,"watched":[{"quality":"720p","seconds":2,"first":true}],"parts":[0]}`

func TestPlaysNeedNoKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	id := r.Create(video.Draft{IsPublic: true}).Video.ID
	w := r.tell("/api/play/"+string(id), "text/plain;charset=UTF-8", fmt.Sprintf(firstReport, 1))
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Body.Len() != 0 {
		t.Fatalf("the answer is %d %v %s", w.Code, w.Header(), w.Body)
	}
	w = r.tell("/cmcd", "application/cmcd", strings.Join([]string{
		`cid="` + string(id) + `",sid="another",sta=p,e=ps,ts=1000000,msd=400,v=2`,
		`cid="` + string(id) + `",sid="another",sta=p,e=t,ts=1005000,pt=5000`,
		`nonsense`, `cid="x",sid="y"`, `cid="` + testID + `",sid="z",sta=p,ts=1`, "",
	}, "\n"))
	if w.Code != 204 {
		t.Fatalf("CMCD is answered %d %s", w.Code, w.Body)
	}
	if out := r.audienceOf(id); out.Views != 2 || out.WatchedSeconds != 7 || out.Viewers != 1 || out.ViewersAre != "sums" {
		t.Errorf("the audience is %+v", out.AudienceFigures)
	}
	for _, path := range []string{"/api/play/" + string(id), "/cmcd"} {
		w := do(r.handler, httptest.NewRequest("OPTIONS", path, nil))
		if w.Code != 204 || w.Header().Get("Access-Control-Allow-Methods") != "POST" {
			t.Errorf("OPTIONS %s is answered %d %v", path, w.Code, w.Header())
		}
		wantProblem(t, do(r.handler, httptest.NewRequest("GET", path, nil)), 405, "method_not_allowed")
	}
	wantProblem(t, r.tell("/api/play/"+string(id), "text/html", fmt.Sprintf(firstReport, 1)), 415, "unsupported_media_type")
	wantProblem(t, r.tell("/api/play/"+string(id), "application/json", strings.Repeat(" ", maxPlay+1)), 413, "body_too_large")
	wantProblem(t, r.tell("/cmcd", "application/cmcd", strings.Repeat("sid=\"a\"\n", 101)), 400, "invalid_request")
	wantProblem(t, r.tell("/api/play/"+testID, "application/json", fmt.Sprintf(firstReport, 1)), 404, "video_not_found")
}

func TestPlaysOfPrivateVideosNeedTheirToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	id := r.Create(video.Draft{}).Video.ID
	var read struct{ HLSURL string }
	r.decode(r.ask("GET", "/api/video/"+string(id)+"/private/60", ""), &read)
	token := strings.Split(read.HLSURL, "/")[4]
	wantProblem(t, r.tell("/api/play/"+string(id), "text/plain", fmt.Sprintf(firstReport, 1)), 404, "video_not_found")
	wantProblem(t, r.tell("/api/play/"+string(id)+"?token=x"+token, "text/plain", fmt.Sprintf(firstReport, 1)), 403, "url_invalid")
	if w := r.tell("/api/play/"+string(id)+"?token="+token, "text/plain", fmt.Sprintf(firstReport, 1)); w.Code != 204 {
		t.Errorf("with the signature of hlsUrl: %d %s", w.Code, w.Body)
	}
	if w := r.tell("/cmcd", "application/cmcd", `cid="`+string(id)+`",sid="s",sta=p,ts=1`); w.Code != 204 {
		t.Errorf("CMCD of a private video: %d %s", w.Code, w.Body)
	}
	if out := r.audienceOf(id); out.Views != 1 {
		t.Errorf("%d views, want 1", out.Views)
	}
}

func TestAnAddressMayTellSoMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	id := r.Create(video.Draft{IsPublic: true}).Video.ID
	refused := 0
	for i := range 1000 {
		w := r.tell("/api/play/"+string(id), "application/json", fmt.Sprintf(firstReport, i), "User-Agent", fmt.Sprint("browser ", i))
		if w.Code == http.StatusTooManyRequests {
			refused++
		}
	}
	out := r.audienceOf(id)
	if refused < 500 || out.Viewers != 20 || out.Views > 200 {
		t.Errorf("%d of 1000 were refused, %d viewers and %d views were counted", refused, out.Viewers, out.Views)
	}
}

func TestGlobalPrivacyControl(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Sec-GPC", "DNT"} {
		r := newRig(t, Config{})
		id := r.Create(video.Draft{IsPublic: true}).Video.ID
		r.tell("/api/play/"+string(id), "application/json", fmt.Sprintf(firstReport, 1), header, "1")
		if out := r.audienceOf(id); out.Views != 1 || out.Viewers != 0 || out.WatchedSeconds != 0 || len(out.Devices)+len(out.Qualities) != 0 {
			t.Errorf("with %s the audience is %+v", header, out)
		}
	}
}

func TestTimelineAsCSV(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	id := r.Create(video.Draft{IsPublic: true}).Video.ID
	r.tell("/api/play/"+string(id), "application/json", fmt.Sprintf(firstReport, 1))
	r.Must(r.Audience.Flush(t.Context()))
	for _, path := range []string{"/api/audience", "/api/video/" + string(id) + "/audience"} {
		q := request("GET", path+"?from=2030-01-02T11:00:00Z&to=2030-01-02T13:00:00Z", "")
		q.Header.Set("Accept", "text/csv, application/json;q=0.5")
		w := r.send(q)
		const want = "at,views,watchedSeconds\n2030-01-02T11:00:00Z,0,0\n2030-01-02T12:00:00Z,1,2\n"
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/csv; charset=utf-8" || w.Body.String() != want {
			t.Errorf("%s is %d %v %q, want %q", path, w.Code, w.Header(), w.Body, want)
		}
	}
	wantProblem(t, r.ask("GET", "/api/audience?from=yesterday", ""), 400, "invalid_request")
	wantProblem(t, r.ask("GET", "/api/audience?from=2030-01-02T11:00:00Z&to=2030-01-02T11:00:00Z", ""), 400, "invalid_request")
	wantProblem(t, r.askAs(r.newKeyOf("other"), "GET", "/api/video/"+string(id)+"/audience", ""), 404, "video_not_found")
}
