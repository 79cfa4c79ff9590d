package probe

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// repeated is a text over and over, but not for ever: a test that fails should
// end.
type repeated struct {
	text string
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := 0
	for r.left > 0 && len(p)-n >= len(r.text) {
		n += copy(p[n:], r.text)
		r.left--
	}
	if n == 0 {
		return 0, errors.New("the buffer is too small")
	}
	return n, nil
}

// TestAnAnswerWithoutEnd gives Read what a program might print that a file has
// taken over.
func TestAnAnswerWithoutEnd(t *testing.T) {
	const size = 100 << 20
	tests := []struct{ name, begin, more string }{
		{"a packet", `{"packets":[{"codec_type":"`, "a"},
		{"spaces", `{"packets":[`, " "},
		{"the title of a chapter", `{"chapters":[{"tags":{"title":"`, "a"},
		{"a list of streams", `{"streams":[{}`, ",{}"},
		{"a name that nobody knows", `{"`, "b"},
		{"a value that nobody knows", `{"programs":["`, "c"},
		{"a number", `{"packets":[{"pts":1`, "0"},
		{"lists in lists", `{"programs":`, "["},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := NewResult().Read(io.MultiReader(strings.NewReader(tt.begin), &repeated{strings.Repeat(tt.more, 100), size / len(tt.more) / 100}))
			runtime.ReadMemStats(&after)
			if f, ok := errors.AsType[*video.Failure](err); !ok || f.Code != video.Corrupt {
				t.Errorf("Read = %v; want a failure", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > size/2 {
				t.Errorf("took %d MiB of memory", used>>20)
			}
		})
	}
}

func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	var packets strings.Builder
	for i := range maxListed + 1 {
		fmt.Fprintf(&packets, `,{"codec_type":"audio","stream_index":%d}`, i)
	}
	for name, text := range map[string]string{
		"packets of many streams": `{"packets":[{}` + packets.String(),
		"many streams":            `{"streams":[{}` + strings.Repeat(",{}", maxListed),
		"long streams":            `{"streams":[{}` + strings.Repeat(`,{"codec_name":"`+strings.Repeat("x", maxValue/2)+`"}`, 9),
	} {
		err := NewResult().Read(strings.NewReader(text))
		if f, ok := errors.AsType[*video.Failure](err); !ok || f.Code != video.Corrupt {
			t.Errorf("%s: Read = %v; want a failure", name, err)
		}
	}
}

// A file of a few bytes can list millions of packets.
func TestTooManyPackets(t *testing.T) {
	t.Parallel()
	if small, large := mostPackets(0, false), mostPackets(1<<30, false); small > 500_000 || large < 12*3600*100 {
		t.Errorf("a small file may have %d packets, one of 1 GiB %d", small, large)
	}
	for packets, refused := range map[int]bool{3: false, 4: true} {
		r := NewResult()
		r.maxPackets = 3
		err := r.Read(strings.NewReader(`{"packets":[` + strings.Repeat(`{"codec_type":"audio","stream_index":0},`, packets) + `{}],"streams":[],"format":{}}`))
		if f, ok := errors.AsType[*video.Failure](err); ok != refused || refused && f.Code != video.TooLong {
			t.Errorf("%d packets of 3: %v", packets, err)
		}
	}
}

// A file can have any number of chapters, in any order.
func TestChaptersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `{"start_time":"%d.5","tags":{"title":"%s"}},{"start_time":"1.0"},`, i, strings.Repeat("\u202e", 300)+"x")
	}
	r := NewResult()
	if err := r.Read(strings.NewReader(`{"chapters":[` + text.String() + `{}],"format":{}}`)); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Chapters); n != video.MaxChapters || r.Chapters[n-1] != (Chapter{float64(n) - 1.5, "x"}) {
		t.Errorf("there are %d chapters, the last %+v", n, r.Chapters[n-1])
	}
}
