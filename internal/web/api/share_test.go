package api

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

func TestShares(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	at := "/api/video/" + string(r.Create(video.Draft{}).Video.ID) + "/share"
	var plain, full shareView
	r.decode(r.ask("POST", at, ""), &plain)
	w := r.ask("POST", at, `{"label":"Press","expiresAt":"2031-01-02T13:00:00+01:00","password":"hush","download":true}`)
	if r.decode(w, &full); w.Code != 201 || strings.Contains(w.Body.String(), "hush") || strings.Contains(w.Body.String(), "argon2") {
		t.Errorf("the answer is %d %s", w.Code, w.Body)
	}
	if !strings.HasPrefix(plain.URL, "http://example.com/share/") || strings.Contains(plain.URL, string(plain.ID)) || plain.ExpiresAt != nil || plain.HasPassword || plain.Download {
		t.Errorf("a share that says nothing is %+v", plain)
	}
	if full.Label != "Press" || full.ExpiresAt == nil || full.ExpiresAt.Format("2006-01-02T15:04:05Z07:00") != "2031-01-02T12:00:00Z" || !full.HasPassword || !full.Download {
		t.Errorf("a share is %+v", full)
	}
	var list shareList
	if w = r.ask("GET", at, ""); strings.Contains(w.Body.String(), "argon2") {
		t.Errorf("the list tells %s", w.Body)
	}
	if r.decode(w, &list); len(list.Shares) != 2 || list.Shares[0].ID != full.ID || list.Shares[1].URL != plain.URL {
		t.Errorf("the list is %s", w.Body)
	}
	write := r.newKey(auth.Write)
	wantProblem(t, r.askAs(write, "POST", at, ""), 403, "insufficient_scope")
	wantProblem(t, r.askAs(write, "GET", at, ""), 403, "insufficient_scope")
	for body, field := range map[string]string{
		`{"label":"` + strings.Repeat("ü", 201) + `"}`: "label out_of_range", `{"password":"` + strings.Repeat("x", 201) + `"}`: "password out_of_range",
		`{"expiresAt":"2001-01-01T00:00:00Z"}`: "expiresAt out_of_range", `{"expiresAt":"soon"}`: "expiresAt out_of_range",
		`{"label":"a\r\nSet-Cookie: x"}`: "label not_allowed", `{"password":"a\u0000"}`: "password not_allowed",
	} {
		if got := strings.Join(faultWords(wantProblem(t, r.ask("POST", at, body), 400, "invalid_request")), ","); got != field {
			t.Errorf("%.40s is refused as %q; want %q", body, got, field)
		}
	}
	if w := r.askAs(write, "DELETE", at+"/"+string(full.ID), ""); w.Code != 200 {
		t.Errorf("deleting is answered %d %s", w.Code, w.Body)
	}
	wantProblem(t, r.ask("DELETE", at+"/"+string(full.ID), ""), 404, "share_not_found")
	wantProblem(t, r.ask("DELETE", at+"/x", ""), 400, "invalid_request")
}
