package chapters

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// written returns a list as lines.
func written(l List) string {
	var b strings.Builder
	for i, c := range l.tidy().Chapters {
		fmt.Fprintf(&b, "%d %.3f %s\n", l.lines[i], c.Start.Seconds(), c.Title)
	}
	return b.String()
}

func TestReadText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"lines":           {"00:00 Intro\n00:42 The second act\n1:02:03 Title", "1 0.000 Intro\n2 42.000 The second act\n3 3723.000 Title\n"},
		"a description":   {"My film!\r\n\r\nChapters:\r\n0:00 - Intro\r\n0:42 – Act\r\n\r\nThanks, see you at 7:30 in the bar\r\n#film", "4 0.000 Intro\n5 42.000 Act\n"},
		"brackets":        {"(0:00) One\n[00:10] Two\n  (1:00:00): Three", "1 0.000 One\n2 10.000 Two\n3 3600.000 Three\n"},
		"bullets":         {"• 0:00 One\n- 0:10 Two\n* 0:20 — Three\n4. 0:30 Four\n5) 0:40 | Five", "1 0.000 One\n2 10.000 Two\n3 20.000 Three\n4 30.000 Four\n5 40.000 Five\n"},
		"ranges":          {"0:00 - 0:42 One\n0:42–1:10: Two", "1 0.000 One\n2 42.000 Two\n"},
		"behind":          {"1. One – 0:00\nTwo (0:42)\nThree 1:02:03", "1 0.000 One\n2 42.000 Two\n3 3723.000 Three\n"},
		"fine":            {"0:00.5 One\n00:01,250 Two\n75:00 Three", "1 0.500 One\n2 1.250 Two\n3 4500.000 Three\n"},
		"digits in title": {"0:00 2001: A Space Odyssey\n0:10 3 wishes\n0:20 (Reprise) [live]", "1 0.000 2001: A Space Odyssey\n2 10.000 3 wishes\n3 20.000 (Reprise) [live]\n"},
		"other scripts":   {"\ufeff0:00 開始\n0:10\tالفصل  الثاني", "1 0.000 開始\n2 10.000 الفصل الثاني\n"},
		"no title":        {"0:00 One\n0:10", "1 0.000 One\n2 10.000 \n"},
		"odd times":       {"0:60 no\n1:2 no\n0:00 yes\n1234:00 no", "3 0.000 yes\n"},
	} {
		l, err := ReadText([]byte(tt.text))
		if got := written(l); err != nil || got != tt.want {
			t.Errorf("%s: %v\n%swant\n%s", name, err, got, tt.want)
		}
	}
	for _, text := range []string{"", "no chapters", strings.Repeat("0", MaxSize), strings.Repeat("(", MaxSize), strings.Repeat("\n", MaxSize)} {
		if _, err := ReadText([]byte(text)); err == nil {
			t.Errorf("%.20q is read", text)
		}
	}
}

func TestReadVTT(t *testing.T) {
	t.Parallel()
	l, err := ReadVTT([]byte("WEBVTT\n\nNOTE by hand\n\n1\n00:00.000 --> 00:42.000\nOne &amp; <b>only</b>\n\n00:42.000 --> 01:00.000\nTwo\nlines\n"))
	if got, want := written(l), "6 0.000 One & only\n9 42.000 Two lines\n"; err != nil || got != want {
		t.Errorf("%v\n%swant\n%s", err, got, want)
	}
	if _, err := ReadVTT([]byte("WEBVTT\n\n00:42.000 --> 00:41.000\nOne\n")); err == nil || !strings.Contains(err.Error(), "Line 3: ") {
		t.Errorf("the refusal is %v", err)
	}
}

func TestListsThatAreRefused(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration, title string) video.Chapter { return video.Chapter{Start: d, Title: title} }
	for _, tt := range []struct {
		list List
		want string
	}{
		{List{Chapters: []video.Chapter{at(0, "a"), at(time.Microsecond, "b")}}, "chapters[1].startSeconds: must be later than the chapter before, which begins at 0:00"},
		{List{Chapters: []video.Chapter{at(-1e9, "a"), at(101*time.Hour, " ")}}, "chapters[0].startSeconds: must be from 0 to 360000 seconds; chapters[1].startSeconds: must be from 0 to 360000 seconds; chapters[1].title: must have 1 to 200 characters, has 0"},
		{List{Chapters: []video.Chapter{at(0, strings.Repeat("ü", 201)), at(1e9, "a\x00")}}, "chapters[0].title: must have 1 to 200 characters, has 201; chapters[1].title: must be UTF-8 without control characters"},
		{List{Chapters: []video.Chapter{at(0, "a"), at(10*time.Second, "b")}}, "chapters[1].startSeconds: must be before the end of the video at 0:10"},
		{List{Chapters: make([]video.Chapter, 201)}, "chapters: must be at most 200, there are 201"},
		{List{[]video.Chapter{at(0, "a"), at(0, "b")}, []int{3, 7}}, "Line 7: the time must be later than the chapter before, which begins at 0:00."},
		{List{make([]video.Chapter, 201), make([]int, 201)}, "The chapters must be at most 200, there are 201."},
	} {
		l := tt.list.tidy()
		all := l.flaws(10 * time.Second)
		var words []string
		for _, f := range faults(all) {
			words = append(words, f.Field+": "+f.Message)
		}
		got := strings.Join(words, "; ")
		if l.lines != nil {
			got = l.refusal(all).Error()
		}
		if !strings.HasSuffix(got, tt.want) {
			t.Errorf("the refusal is %q, want %q", got, tt.want)
		}
	}
	if err := (List{Chapters: []video.Chapter{at(0, strings.Repeat("ü", 200))}}).refusal(nil); err != nil {
		t.Error(err)
	}
}
