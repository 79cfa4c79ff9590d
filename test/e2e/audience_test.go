package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// audience is what the server tells of a video or a tenant.
type audienceFigures struct {
	Views, Viewers, Failures     int
	WatchedSeconds               float64
	CompletionRate               float64
	Bytes                        int64
	Startup                      struct{ P50, P95 float64 }
	Devices, Browsers, Qualities []audienceLine
	Referrers, Countries         []audienceLine
	Retention                    []struct{ Share float64 }
	Top                          []struct{ VideoID, Title string }
}

type audienceLine struct {
	Name           string
	Views          int
	WatchedSeconds float64
}

func (s *server) audience(path string) audienceFigures {
	s.t.Helper()
	return decode[audienceFigures](s.t, s.call("GET", path, nil), http.StatusOK)
}

func TestAudienceOfAVideoInABrowser(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.publish(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}}, clip(t, middleClip)) // private
	v := newVisitor(t, s)
	v.visit(u.EmbedURL)
	v.wait("the player", inPlayer+` !== undefined`)
	eval[any](v.tab, inPlayer+`.play()`)
	v.wait("the end", inPlayer+`.ended`)
	v.visit("about:blank") // the page tells the rest when it is left
	var out audienceFigures
	s.until("the view to be counted", 30*time.Second, func() bool {
		out = s.audience("/api/video/" + u.ID + "/audience")
		return out.Views == 1 && out.CompletionRate == 1
	})
	if out.Viewers != 1 || out.Failures != 0 || out.Startup.P50 <= 0 || out.Startup.P50 > 30 || out.WatchedSeconds < 1 {
		t.Errorf("the audience is %+v", out)
	}
	if len(out.Qualities) != 1 || out.Qualities[0].Name != "144p" || len(out.Devices) != 1 || len(out.Browsers) != 1 || out.Browsers[0].Name != "Chrome" {
		t.Errorf("qualities, devices and browsers are %v, %v, %v", out.Qualities, out.Devices, out.Browsers)
	}
	seen := 0
	for _, p := range out.Retention {
		if p.Share == 1 {
			seen++
		}
	}
	if len(out.Retention) != 100 || seen < 90 {
		t.Errorf("%d of %d parts were seen", seen, len(out.Retention))
	}
}

func TestAudienceOfOtherPlayers(t *testing.T) {
	t.Parallel()
	s := shared(t)
	w := s.publish(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, middleClip))
	told := url.Values{"CMCD": {`cid="` + w.ID + `",sid="a-session",ot=v,d=2000,su`}}
	segment := beside(w.HLSURL, "144p-0.m4s") + "?" + told.Encode()
	body := s.get(segment)
	if body.status != http.StatusOK {
		t.Fatalf("the segment is answered %d", body.status)
	}
	var out audienceFigures
	s.until("the view to be counted", 30*time.Second, func() bool {
		out = s.audience("/api/video/" + w.ID + "/audience")
		return out.Views == 1 && out.Bytes > 0
	})
	if out.WatchedSeconds != 2 || len(out.Qualities) != 1 || out.Qualities[0].Name != "144p" {
		t.Errorf("the audience is %+v", out)
	}
	if out.Bytes < int64(len(body.body)) {
		t.Errorf("%d bytes are counted, and %d were sent", out.Bytes, len(body.body))
	}
	if top := s.audience("/api/audience"); !strings.Contains(fmt.Sprint(top.Top), w.ID) || top.Views < 1 {
		t.Errorf("the tenant's audience is %+v", top)
	}
}
