package audience_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/servicetest"
)

func TestParseCMCD(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       audience.CMCD
	}{
		{"keys of version 1", `bl=21300,bs,cid="a,b",d=4004,ot=v,sid="6e2f"`, audience.CMCD{"bl": "21300", "bs": "true", "cid": "a,b", "d": "4004", "ot": "v", "sid": "6e2f"}},
		{"lists of version 2", `br=(1000;v 2000;a),pt=(5000;a 6000;v),sta=p`, audience.CMCD{"br": "2000", "pt": "6000", "sta": "p"}},
		{"spaces and an empty pair", ` sid="x" , ,d=1`, audience.CMCD{"sid": "x", "d": "1"}},
		{"an escaped quote", `cid="a\",b",d=1`, audience.CMCD{"cid": `a\`, "d": "1"}},
		{"nothing", ``, nil},
		{"too long", strings.Repeat("a", 5000), nil},
		{"too many keys", func() (s string) {
			for i := range 100 {
				s += fmt.Sprintf("k%d=1,", i)
			}
			return s
		}(), nil},
	}
	for _, tt := range tests {
		got, ok := audience.ParseCMCD(tt.text)
		if ok != (tt.want != nil) {
			t.Errorf("%s: %v, %v", tt.name, got, ok)
		} else if diff := cmp.Diff(tt.want, got); ok && diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func FuzzParseCMCD(f *testing.F) {
	f.Add(`bl=21300,bs,cid="a,b",br=(1000;v 2000;a)`)
	f.Add(`"(),\`)
	f.Fuzz(func(t *testing.T, text string) {
		if all, ok := audience.ParseCMCD(text); ok && (len(all) == 0 || len(all) > 64) {
			t.Errorf("%q has %d keys", text, len(all))
		}
	})
}

// cmcd parses a text that is CMCD.
func cmcd(t *testing.T, format string, values ...any) audience.CMCD {
	t.Helper()
	all, ok := audience.ParseCMCD(fmt.Sprintf(format, values...))
	if !ok {
		t.Fatalf("%q is no CMCD", fmt.Sprintf(format, values...))
	}
	return all
}

func TestSegmentsThatArePlayed(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	id := public(t, r)
	ask := func(file, more string) {
		r.Audience.Request(id, at("192.0.2.1"), cmcd(t, `sid="one",cid="%s"%s`, id, more), file)
		r.Advance(4 * time.Second)
	}
	ask("master.m3u8", ",ot=m")
	ask("720p-init.mp4", ",ot=i,d=4000")
	ask("720p-0.m4s", ",ot=v,d=4000")
	ask("audio-0.m4s", ",ot=a,d=4000")
	ask("vabcdefabcdef.480p-1.m4s", ",ot=v,d=4000,bs")
	ask("av1-720p-2.m4s", ",ot=v,d=4000")
	r.Audience.Request(id, at("192.0.2.1"), cmcd(t, `sid="two",cid="another",d=4000,ot=v`), "720p-0.m4s") // of another video
	r.Audience.Request(id, at("192.0.2.1"), cmcd(t, `d=4000,ot=v`), "720p-0.m4s")                         // of no session
	f, parts := read(t, r, id)
	if f.Views != 1 || f.Viewers != 1 || f.Watched != 12*time.Second || f.StallsPerHour == 0 || len(parts) != 0 {
		t.Errorf("%d views, %d viewers, %v, stalls %v, parts %v", f.Views, f.Viewers, f.Watched, f.StallsPerHour, parts)
	}
	if got := fmt.Sprint(f.Qualities); got != "[{720p 1 8s} {480p 1 4s}]" {
		t.Errorf("qualities are %s", got)
	}
}

func TestEventsOfPlayers(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	id := public(t, r)
	second := 0
	tell := func(text string, wait int) {
		who := at("192.0.2.1")
		who.Referrer = "example.com"
		r.Must(r.Audience.Events(t.Context(), "", who, []audience.CMCD{cmcd(t, `v=2,cid="%s",sid="one",ts=%d,%s`, id, 1893585600000+second*1000, text)}))
		second += wait
		r.Advance(time.Duration(wait) * time.Second)
	}
	tell("e=ps,sta=s", 1)
	tell("e=ps,sta=p,msd=900,pt=0", 10)
	tell("e=t,sta=p,pt=10000", 5)
	tell("e=ps,sta=r,pt=15000", 2) // waits
	tell("e=ps,sta=p,pt=15000", 5)
	tell("e=ps,sta=a,pt=20000", 60) // paused
	tell("e=ps,sta=p,pt=50000", 8)  // somewhere else
	tell("e=ps,sta=e,pt=58000", 1)
	f, parts := read(t, r, id)
	if f.Views != 1 || f.Watched != 28*time.Second || f.Completion != 1 || f.Failures != 0 {
		t.Errorf("%d views, %v watched, completion %v, %d failures; want 1, 28 s, 1, 0", f.Views, f.Watched, f.Completion, f.Failures)
	}
	if want := 2.0 / 30; f.StallRatio < want-0.001 || f.StallRatio > want+0.001 {
		t.Errorf("the ratio of stalls is %v, want %v", f.StallRatio, want)
	}
	seen := 0
	for _, p := range parts {
		if p.Share == 1 {
			seen++
		}
	}
	if seen < 44 || seen > 52 || parts[50].Share != 0 {
		t.Errorf("%d parts were seen, want about 47: %v", seen, parts)
	}
	if fmt.Sprint(f.Referrers) != "[{example.com 1 28s}]" {
		t.Errorf("referrers are %v", f.Referrers)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	tests := []struct{ agent, device, browser string }{
		{chromeOnWindows, "desktop", "Chrome"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15", "desktop", "Safari"},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "desktop", "Firefox"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "desktop", "Edge"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1", "mobile", "Safari"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1", "mobile", "Chrome"},
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36", "mobile", "Chrome"},
		{"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36", "tablet", "Chrome"},
		{"Mozilla/5.0 (Linux; Android 13; SM-S901B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36", "mobile", "Samsung Internet"},
		{"Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1", "tablet", "Safari"},
		{"Mozilla/5.0 (SMART-TV; Linux; Tizen 8.0) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/7.0 TV Safari/537.36", "tv", "Samsung Internet"},
		{"AppleCoreMedia/1.0.0.22G86 (Apple TV; U; CPU OS 18_6 like Mac OS X; en_us)", "tv", "AVPlayer"},
		{"VLC/3.0.21 LibVLC/3.0.21", "other", "VLC"},
		{"", "other", "other"},
	}
	for _, tt := range tests {
		if device, browser := audience.AgentOf(tt.agent); device != tt.device || browser != tt.browser {
			t.Errorf("%q is %s and %s, want %s and %s", tt.agent, device, browser, tt.device, tt.browser)
		}
	}
}
