package webvtt

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestConversion(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"WebVTT", "WEBVTT\n\n00:01.000 --> 00:02.500\nHello\n", "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nHello\n"},
		{"a byte order mark, other ends of lines, an identifier and settings",
			"\ufeffWEBVTT - a title\r\nKind: captions\r\n\r\nintro\r\n00:00:01.000 --> 00:00:02.000 align:start line:0 region:x onclick:evil\r\n<v Ann>Hi</v> & <c.red>you</c>\r\n",
			"WEBVTT\n\n00:00:01.000 --> 00:00:02.000 align:start line:0\n<v Ann>Hi</v> &amp; <c.red>you</c>\n"},
		{"comments and styles go", "WEBVTT\n\nNOTE a\nb\n\nSTYLE\n::cue { background: url(http://evil) }\n\n00:01.000 --> 00:02.000\nx\n", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nx\n"},
		{"foreign tags go", "WEBVTT\n\n00:01.000 --> 00:02.000\n<script>alert(1)</script><img src=x onerror=y>&lt;b> 1 < 2 <00:00:01.500>late", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nalert(1)&lt;b&gt; 1 late\n"},
		{"an arrow in a text", "WEBVTT\n\n1\n00:01.000 --> 00:02.000\na &#45;-> b", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\na --&gt; b\n"},
		{"an arrow at the end of a tag", "WEBVTT\n\n1\n00:01.000 --> 00:02.000\n<v Ann-->a</v--> <c.x-->b</c> <v -->c", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v Ann>a</v> <c.x>b</c> <v >c\n"},
		{"in the order of time", "WEBVTT\n\n00:03.000 --> 00:04.000\nb\n\n00:01.000 --> 00:02.000\na\n", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\na\n\n00:00:03.000 --> 00:00:04.000\nb\n"},
		{"nothing to show", "WEBVTT\n\n00:01.000 --> 00:02.000\n\n00:03.000 --> 00:04.000\n<x>\n", "WEBVTT\n"},
		{"an empty list", "WEBVTT", "WEBVTT\n"},
		{"SubRip", "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i> <font color=\"red\">you</font>\nR&D <3 a < b\n\n2\n00:01:00,5 --> 100:00:00,000 X1:1 X2:2\n{\\an8}Top\n",
			"WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<i>Hello</i> you\nR&amp;D &lt;3 a &lt; b\n\n00:01:00.500 --> 100:00:00.000 line:0\nTop\n"},
		{"SubRip with empty lines", "\n\n1\n00:00:01,000 --> 00:00:02,000\na\n\nb\n\n\n2\n00:00:03,000 --> 00:00:04,000\nc", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\na\nb\n\n00:00:03.000 --> 00:00:04.000\nc\n"},
		{"controls go", "WEBVTT\n\n00:01.000 --> 00:02.000\na\x00b\x1b[31m\u202ec&#0;&#x202e;d", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nab[31mc\ufffdd\n"},
	}
	for _, tt := range tests {
		cues, err := Parse([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := string(Encode(cues))
		if got != tt.want {
			t.Errorf("%s: the text becomes\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

func TestFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Error{
		"":                                        {1, "empty"},
		"hello\nworld":                            {1, "neither WebVTT"},
		"{\"json\": 1}":                           {1, "neither WebVTT"},
		"WEBVTT\n\nhello\n":                       {3, "no time"},
		"WEBVTT\n\n00:02.000 --> 00:01.000\nx":    {3, "not after its beginning"},
		"WEBVTT\n\n00:01.000 --> 00:61.000\nx":    {3, "does not exist"},
		"1\n00:00:01,000 --> soon\nx":             {2, "not of the form"},
		"WEBVTT\n\n00:01.000 --> 00:02.000\n\xff": {4, "not UTF-8"},
		"\xff\xfeW\x00":                           {1, "UTF-16"},
		"WEBVTT\n\n00:01.000 --> 00:02.000\n" + strings.Repeat("x", maxText+1): {4, "more than"},
		"WEBVTT\n\n00:01.000 --> 9999:00:00.000\nx":                            {3, "does not exist"},
		strings.Repeat("x", MaxSize+1):                                         {1, "bytes"},
	} {
		_, err := Parse([]byte(text))
		if e, ok := errors.AsType[*Error](err); !ok || e.Line != want.Line || !strings.Contains(e.Reason, want.Reason) {
			t.Errorf("%.40q: %v; want line %d: %s", text, err, want.Line, want.Reason)
		}
	}
	cues, err := ParseForgiving([]byte("WEBVTT\n\n00:02.000 --> 00:02.000\nx\n\n00:03.000 --> 00:04.000\ny\n\nwhat\n"))
	if err != nil || len(cues) != 1 || cues[0].Lines[0] != "y" {
		t.Errorf("what makes sense of a track is %v, %v", cues, err)
	}
	const good, bad = "1\n00:00:01,000 --> 00:00:02,000\na\n\n", "2\n00:00:04,000 --> 00:00:03,000\nb\n\nthe rest of b\n\n"
	cues, err = ParseForgiving([]byte(good + bad + strings.ReplaceAll(good, "01,", "00,") + "the rest of a\n"))
	if err != nil || len(cues) != 2 || len(cues[0].Lines) != 2 || len(cues[1].Lines) != 1 { // in the order of time
		t.Errorf("around a cue that makes no sense there are %v, %v", cues, err)
	}
}

func TestSegmentsHaveWhatIsShown(t *testing.T) {
	t.Parallel()
	cues, err := Parse([]byte("WEBVTT\n\n00:01.000 --> 00:07.000\na\n\n00:06.000 --> 00:08.000\nb\n\n00:12.000 --> 00:13.000\nc\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a", "a b", "c", ""} {
		text := EncodeSegment(cues, time.Duration(i)*6*time.Second, time.Duration(i+1)*6*time.Second)
		got, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, c := range got {
			shown = append(shown, c.Lines...)
		}
		if strings.Join(shown, " ") != want || !strings.HasPrefix(string(text), "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n") {
			t.Errorf("segment %d is %q, want %q", i, text, want)
		}
	}
}

func TestShift(t *testing.T) {
	t.Parallel()
	text := []Cue{{Start: 1 * time.Second, End: 2 * time.Second}, {Start: 3 * time.Second, End: 5 * time.Second}, {Start: 9 * time.Second, End: 10 * time.Second}}
	got := Shift(text, -4*time.Second, 3*time.Second)
	if len(got) != 1 || got[0].Start != 0 || got[0].End != time.Second {
		t.Errorf("the cues of the video are %+v, want one of its first second", got)
	}
}

// FuzzParse wants what is written to be read again as the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"WEBVTT\n\n00:01.000 --> 00:02.000 line:-1\n<v A>x</v>&nbsp;<00:00:01.500>y", "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<B>x</b> < y",
		"WEBVTT\n\nNOTE\n\n1\n00:01.000 --> 00:02.000\n&lt;script&gt;", "\xef\xbb\xbfWEBVTT\r\r00:01.000 --> 00:02.000\ra\r",
		"WEBVTT\n\n00:01.000 --> 00:02.000\n<<<>>><c.<b>&#60;&amp;#60;", "1\n0:0 --> 0:1\n--> \n\n-->\n",
		"WEBVTT\n\n00:01.000 --> 00:02.000\n<v 00:03.000 -->x <c.--->",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &parser{}
		cues, err := p.parse(text)
		// In SubRip, only a forgiving parser knows entities, of which nothing may remain.
		if forgiven, e := ParseForgiving(text); err == nil && !p.subrip && (e != nil || len(forgiven) != len(cues)) {
			t.Fatalf("forgiving, %d cues become %d, %v", len(cues), len(forgiven), e)
		}
		if err != nil {
			return
		}
		first := Encode(cues)
		if n := bytes.Count(first, []byte("-->")); n != len(cues) {
			t.Fatalf("%q becomes %q, which has %d arrows for %d cues", text, first, n, len(cues))
		}
		again, err := Parse(first)
		if len(first) > MaxSize {
			return
		}
		if err != nil || string(Encode(again)) != string(first) {
			t.Fatalf("%q becomes %q, then %q, %v", text, first, Encode(again), err)
		}
	})
}

func TestTextOfACueIsBounded(t *testing.T) {
	t.Parallel()
	cue := "1\n00:00:01,000 --> 00:00:02,000\n"
	next := "\n\n2\n00:00:03,000 --> 00:00:04,000\nb\n"
	for name, text := range map[string]string{
		"one line":                        cue + strings.Repeat("x", 5*maxText+1),
		"many blocks":                     cue + "a" + strings.Repeat("\n\nxxxxxxxx", 5*maxText/8+1),
		"blocks of which nothing remains": cue + strings.Repeat("x", maxText-100) + strings.Repeat("\n\n<x>", MaxSize/6),
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: Parse = %v", name, err)
		}
		cues, err := ParseForgiving([]byte(text + next))
		if err != nil || len(cues) != 1 || cues[0].Lines[0] != "b" || len(cues[0].Lines) != 1 {
			t.Errorf("%s: forgiving, there are %d cues, %v; want the second", name, len(cues), err)
		}
	}
}

func TestLongestTextIsReadAgain(t *testing.T) {
	t.Parallel()
	cues, err := Parse([]byte("1\n00:00:01,000 --> 00:00:02,000\n" + strings.Repeat("&", maxText)))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseForgiving(Encode(cues)); err != nil || len(again) != 1 || again[0].Lines[0] != cues[0].Lines[0] {
		t.Errorf("there are %d cues, %v", len(again), err)
	}
}

// A line of nothing but < took minutes when the end of a tag was looked for behind each of them.
func TestTagsWithoutAnEndAreFound(t *testing.T) {
	t.Parallel()
	const n = 2 << 20
	began := time.Now()
	for _, subrip := range []bool{false, true} {
		if got := cleanLine(strings.Repeat("<", n), subrip, !subrip); got != strings.Repeat("&lt;", n) {
			t.Errorf("subrip %v: there are %d bytes that begin with %.20q", subrip, len(got), got)
		}
	}
	if got := cleanLine(strings.Repeat("<", n)+">", true, false); len(got) != 4*(n+1) {
		t.Errorf("with an end there are %d bytes", len(got))
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Too much text at a time would make each of its segments expensive, for which no key is needed.
func TestWhatIsShownAtATimeIsBounded(t *testing.T) {
	t.Parallel()
	many := func(n int, time, text string) string { return strings.Repeat(time+"\n"+text+"\n\n", n) }
	const whole, first, second = "00:00.000 --> 10:00.000", "00:01.000 --> 00:02.000", "00:06.000 --> 00:07.000"
	long := strings.Repeat("x", maxText)
	for name, tt := range map[string]struct {
		text string
		kept int
		line int // which is refused; 0: none
	}{
		"as many as may be":         {many(maxShown, first, "a") + many(maxShown, second, "b"), 2 * maxShown, 0},
		"one too many":              {many(maxShown+1, first, "a"), maxShown, 3*maxShown + 3},
		"one too many all the time": {many(maxShown, whole, "a") + many(1, second, "b"), maxShown, 3*maxShown + 3},
		"all in one segment":        {many(maxShown, first, "a") + many(maxShown, "00:05.999 --> 00:06.000", "b"), maxShown, 3*maxShown + 3},
		"long ones":                 {many(9, whole, long), 7, 3*7 + 3},
		"long ones in turns":        {many(7, first, long) + many(7, second, long), 14, 0},
	} {
		text := []byte("WEBVTT\n\n" + tt.text)
		_, err := Parse(text)
		if e, ok := errors.AsType[*Error](err); ok != (tt.line > 0) || ok && (e.Line != tt.line || !strings.Contains(e.Reason, "shown within the 6 seconds from 00:00:0")) {
			t.Errorf("%s: %v; want line %d to be refused", name, err, tt.line)
		}
		kept, err := ParseForgiving(text)
		if err != nil || len(kept) != tt.kept {
			t.Errorf("%s: %d texts are kept, %v; want %d", name, len(kept), err, tt.kept)
		}
		if size := len(EncodeSegment(kept, Window, 2*Window)); size > maxShownSize+100 {
			t.Errorf("%s: a segment has %d bytes", name, size)
		}
	}
}
