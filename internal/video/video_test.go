package video_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const someID = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"

func TestParseID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     video.ID // "" means refused
	}{
		{"lower case", someID, someID},
		{"upper case comes out in lower case", strings.ToUpper(someID), someID},
		{"mixed case comes out in lower case", "0198C5b6-7D5e-7c3A-9b1E-1f2a3B4c5d6E", someID},
		{"the nil id has the right shape", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"},
		{"empty", "", ""},
		{"one digit short", someID[1:], ""},
		{"one digit long", someID + "0", ""},
		{"not hexadecimal", "g198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", ""},
		{"without hyphens", strings.ReplaceAll(someID, "-", ""), ""},
		{"hyphens in other places", "0198c5b67d5e-7c3a-9b1e-1f2a-3b4c5d6e", ""},
		{"in braces", "{" + someID + "}", ""},
		{"as a URN", "urn:uuid:" + someID, ""},
		{"space before it", " " + someID, ""},
		{"newline behind it", someID + "\n", ""},
		{"second line", someID + "\n" + someID, ""},
		{"NUL behind it", someID + "\x00", ""},
		{"digits of another script", "٠" + someID[1:], ""},
		{"path out of the folder", "../../../../../../../../../etc/passwd", ""},
		{"bytes that are no text", "\xff" + someID[1:], ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := video.ParseID("id", tt.in)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("ParseID(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestSameAs(t *testing.T) {
	t.Parallel()
	plan := &video.Plan{Renditions: []video.Rendition{{Names: []video.Name{"1080p", "480p", "720p"}}, {Names: []video.Name{"240p"}}}}
	ready := func(n video.Name, height int, bytes int64) video.Resolution {
		return video.Resolution{Name: n, Status: video.Ready, Width: 320, Height: height, SizeBytes: bytes}
	}
	being := func(s video.Status, names ...video.Name) (all []video.Resolution) {
		for _, n := range names {
			all = append(all, video.Resolution{Name: n, Status: s})
		}
		return all
	}
	for name, tt := range map[string]struct {
		plan        *video.Plan
		resolutions []video.Resolution
		want        string // of each resolution, in order
	}{
		"three of one size":               {nil, []video.Resolution{ready("1080p", 240, 9), ready("720p", 240, 9), ready("480p", 240, 9), ready("144p", 144, 5)}, "480p 480p - -"},
		"the smallest was deleted":        {nil, []video.Resolution{ready("1080p", 240, 9), ready("720p", 240, 9)}, "720p -"},
		"another encode of the same size": {nil, []video.Resolution{ready("720p", 240, 9), ready("480p", 240, 8)}, "- -"},
		"one is still being made":         {plan, append(being(video.Processing, "1080p"), ready("480p", 240, 9)), "- -"},
		"all are being made":              {plan, being(video.Processing, "1080p", "720p", "480p", "240p"), "480p 480p - -"},
		"two that the plan does not have": {plan, being(video.Processing, "8k", "4k"), "- -"},
		"two that are not planned":        {nil, being(video.Processing, "1080p", "720p"), "- -"},
		"two that failed have no file":    {plan, being(video.Fail, "1080p", "720p"), "- -"},
		"two that wait for the upload":    {nil, being(video.PendingUpload, "1080p", "720p"), "- -"},
	} {
		v := video.Video{Plan: tt.plan, Resolutions: tt.resolutions}
		var got []string
		for _, r := range v.Resolutions {
			got = append(got, cmp.Or(string(v.SameAs(r)), "-"))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s; want %s", name, s, tt.want)
		}
	}
}

func TestParseIDNamesTheField(t *testing.T) {
	t.Parallel()
	_, err := video.ParseID("videoId", "seven")
	e, ok := err.(*video.Error)
	if !ok || e.Kind != video.Invalid || e.Code != "invalid_request" || len(e.Faults) != 1 {
		t.Fatalf("ParseID = %#v, want one fault", err)
	}
	if f := e.Faults[0]; f.Field != "videoId" || f.Code != "invalid_uuid" || f.Message == "" {
		t.Errorf("fault = %+v", f)
	}
}

// What is accepted is exactly what a reader who never saw the code calls a
// UUID, and it always comes out in its one canonical form.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{someID, strings.ToUpper(someID), someID + "\n", "{" + someID + "}", "", "\xff", strings.Repeat("-", 36)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := video.ParseID("id", s)
		if (err == nil) != canonical(strings.ToLower(s)) {
			t.Fatalf("ParseID(%q) = %q, %v", s, id, err)
		}
		if err != nil {
			return
		}
		if !canonical(string(id)) || !strings.EqualFold(string(id), s) {
			t.Errorf("ParseID(%q) = %q, which is not its canonical form", s, id)
		}
		if again, err := video.ParseID("id", string(id)); again != id || err != nil {
			t.Errorf("ParseID(%q) = %q, %v; want the same again", id, again, err)
		}
	})
}

// canonical reports whether s is a UUID in lower case.
func canonical(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if hyphen := i == 8 || i == 13 || i == 18 || i == 23; hyphen != (s[i] == '-') {
			return false
		} else if !hyphen && !strings.ContainsRune("0123456789abcdef", rune(s[i])) {
			return false
		}
	}
	return true
}

func TestResolutionOf(t *testing.T) {
	t.Parallel()
	v := video.Video{Resolutions: resolutions(video.Ready, video.Fail)} // 144p, 240p
	if r, ok := v.Resolution("240p"); !ok || r.Status != video.Fail {
		t.Errorf(`Resolution("240p") = %+v, %t`, r, ok)
	}
	if r, ok := v.Resolution("360p"); ok || r.ID != "" {
		t.Errorf(`Resolution("360p") = %+v, %t; want none`, r, ok)
	}
}

func TestUploadOpen(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name      string
		now       time.Time
		completed time.Time
		want      bool
	}{
		{"before the address expires", noon.Add(-time.Millisecond), time.Time{}, true},
		{"the moment it expires", noon, time.Time{}, false},
		{"afterwards", noon.Add(time.Hour), time.Time{}, false},
		{"an upload was accepted", noon.Add(-time.Hour), noon.Add(-2 * time.Hour), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := video.Video{UploadExpiresAt: noon, CompletedAt: tt.completed}
			if got := v.UploadOpen(tt.now); got != tt.want {
				t.Errorf("UploadOpen(%s) = %t, want %t", tt.now, got, tt.want)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name      string
		status    video.Status
		completed time.Time
		now       time.Time
		want      bool
	}{
		{"nothing was uploaded", video.PendingUpload, time.Time{}, noon.Add(time.Hour), false},
		{"at work", video.Processing, noon, noon.Add(time.Hour), false},
		{"ready", video.Ready, noon, noon, true},
		{"the upload was refused, and can be mended", video.Fail, time.Time{}, noon.Add(-time.Second), false},
		{"the upload was refused, and the address has expired", video.Fail, time.Time{}, noon, true},
		{"the file is to blame", video.Fail, noon.Add(-time.Minute), noon.Add(-time.Second), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := video.Video{Status: tt.status, UploadExpiresAt: noon, CompletedAt: tt.completed}
			if got := v.Settled(tt.now); got != tt.want {
				t.Errorf("Settled(%s) = %t, want %t", tt.now, got, tt.want)
			}
		})
	}
}
