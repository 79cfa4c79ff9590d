package video

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestFits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, metadata string
		labels         []Label
		want           bool
	}{
		{"no label fits everything", ``, nil, true},
		{"no metadata", ``, []Label{{"a", "x"}}, false},
		{"no metadata, and an empty value", ``, []Label{{"a", ""}}, false},
		{"an equal string", `{"a":"x"}`, []Label{{"a", "x"}}, true},
		{"a longer string", `{"a":"xy"}`, []Label{{"a", "x"}}, false},
		{"another case", `{"a":"X"}`, []Label{{"a", "x"}}, false},
		{"another key", `{"b":"x"}`, []Label{{"a", "x"}}, false},
		{"the value as a key", `{"x":"a"}`, []Label{{"a", "x"}}, false},
		{"an empty string", `{"a":""}`, []Label{{"a", ""}}, true},
		{"an empty key", `{"":"x"}`, []Label{{"", "x"}}, true},
		{"a number as it is written", `{"a":42}`, []Label{{"a", "42"}}, true},
		{"a number that is written otherwise", `{"a":42.0}`, []Label{{"a", "42"}}, false},
		{"a digit string", `{"a":"42"}`, []Label{{"a", "42"}}, true},
		{"a truth value", `{"a":true}`, []Label{{"a", "true"}}, true},
		{"null is nothing", `{"a":null}`, []Label{{"a", "null"}}, false},
		{"an object is nothing", `{"a":{}}`, []Label{{"a", "{}"}}, false},
		{"a list is nothing", `{"a":["x"]}`, []Label{{"a", `["x"]`}}, false},
		{"a nested member is not looked for", `{"a":{"b":"x"}}`, []Label{{"a.b", "x"}}, false},
		{"a dot in a key", `{"a.b":"x"}`, []Label{{"a.b", "x"}}, true},
		{"escapes are undone", `{"a":"\u0078\n"}`, []Label{{"a", "x\n"}}, true},
		{"escapes elsewhere", `{"b":"\t","a":"x"}`, []Label{{"a", "x"}}, true},
		{"letters of every kind", `{"ключ":"🎬 é"}`, []Label{{"ключ", "🎬 é"}}, true},
		{"the last of two equal keys", `{"a":"x","a":"y"}`, []Label{{"a", "y"}}, true},
		{"all labels fit", `{"a":"x","b":1}`, []Label{{"b", "1"}, {"a", "x"}}, true},
		{"one of two labels does not", `{"a":"x","b":1}`, []Label{{"a", "x"}, {"b", "x"}}, false},
		{"one key cannot have two values", `{"a":"x","b":"y"}`, []Label{{"a", "x"}, {"a", "y"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (Filter{Labels: tt.labels}).Fits(json.RawMessage(tt.metadata)); got != tt.want {
				t.Errorf("%v fits %s: %t, want %t", tt.labels, tt.metadata, got, tt.want)
			}
		})
	}
}

// FuzzFits compares Fits with Labels, which leaves all to encoding/json.
func FuzzFits(f *testing.F) {
	for _, metadata := range []string{
		``, ` `, `null`, `[]`, `{`, `{}`, ` {"a" : 1 } `, `{"a":"x","a":{}}`, `{"a":{"b":"x"},"b":[{"a":"x"}],"c":"x"}`, `{"\u0061":"\ud83d\ude00","\\":"\""}`, "{\"\xff\":\"\xff\"}",
	} {
		f.Add(metadata, "a", "x")
	}
	f.Fuzz(func(t *testing.T, metadata, key, value string) {
		labels := Labels(json.RawMessage(metadata))
		if !utf8.ValidString(metadata) { // databases do not keep it
			return
		}
		for _, l := range append(labels, Label{key, value}) {
			if got, want := (Filter{Labels: []Label{l}}).Fits(json.RawMessage(metadata)), slices.Contains(labels, l); got != want {
				t.Errorf("%q fits %q: %t, want %t", l, metadata, got, want)
			}
		}
	})
}

func BenchmarkFits(b *testing.B) {
	var members []string
	for i := range 1_300 {
		members = append(members, fmt.Sprintf(`"k%d":"1"`, i))
	}
	metadata := json.RawMessage("{" + strings.Join(members, ",") + "}")
	for b.Loop() {
		if !(Filter{Labels: []Label{{"k600", "1"}}}).Fits(metadata) {
			b.Fatal("it does not fit")
		}
	}
}

// What Labels returns is exactly what fits.
func TestLabels(t *testing.T) {
	t.Parallel()
	tests := map[string][]Label{
		``:         nil,
		`[1]`:      nil,
		`{`:        nil,
		`{"a":{}}`: nil,
		`{"b":"\u0078\u0000","a":42.0,"":"","n":null,"o":{"a":1},"l":["x"],"t":true,"a":1e3}`: {{"", ""}, {"a", "1e3"}, {"b", "x\x00"}, {"t", "true"}},
	}
	for metadata, want := range tests {
		got := Labels(json.RawMessage(metadata))
		slices.SortFunc(got, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
		if !slices.Equal(got, want) {
			t.Errorf("labels of %s are %q, want %q", metadata, got, want)
		}
		if len(want) > 0 && !(Filter{Labels: want}).Fits(json.RawMessage(metadata)) {
			t.Errorf("%q does not fit %s", want, metadata)
		}
	}
}

func TestCursorReadsBack(t *testing.T) {
	t.Parallel()
	const id = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	var all []Cursor
	for _, at := range []time.Time{time.UnixMilli(0), time.UnixMilli(-1), time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC)} {
		all = append(all, Cursor{CreatedAt: at.UTC(), ID: id}, Cursor{Order: Order{Ascending: true}, CreatedAt: at.UTC(), ID: id})
	}
	for _, o := range []Order{{By: ByTitle}, {By: ByTitle, Ascending: true}} {
		all = append(all, Cursor{Order: o, ID: id}, Cursor{Order: o, Key: "61c3a4", ID: id})
	}
	for _, by := range []Sort{ByDuration, BySize} {
		all = append(all, Cursor{Order: Order{By: by}, Key: "0", ID: id}, Cursor{Order: Order{By: by, Ascending: true}, Key: "9223372036854775807", ID: id})
	}
	for _, p := range all {
		if got, err := ParseCursor("cursor", p.String()); got != p || err != nil {
			t.Errorf("ParseCursor(%s) = %v, %v; want %v", p.String(), got, err, p)
		}
	}
}

func TestWrongCursors(t *testing.T) {
	t.Parallel()
	good := Cursor{CreatedAt: time.UnixMilli(1893553445678), ID: "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"}.String()
	for _, s := range []string{
		"", "x", "!", good[1:], good[:len(good)-1], good + "A", good + "\n", good + "=", strings.ToUpper(good),
		coded("1.x"), coded("x.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"), coded("+1.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"),
		coded("99999999999999999999.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"), coded("1.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e' OR 1"),
		coded("title+.x.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"), coded("size-.61c3a4.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"), coded("size-.1"),
		coded("name-.1.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"), coded("-.1.0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"), coded("duration+..0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"),
	} {
		got, err := ParseCursor("cursor", s)
		if KindOf(err) != Invalid || got != (Cursor{}) {
			t.Errorf("ParseCursor(%q) = %v, %v; want it refused", s, got, err)
		}
	}
}

func coded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
