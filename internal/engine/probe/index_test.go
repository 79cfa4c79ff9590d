package probe

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/video"
)

func TestLayoutKeepsPlacesOfPackets(t *testing.T) {
	t.Parallel()
	l := Layout{grain: 100, noted: new(noted)}
	for _, at := range []int64{0, 40, 90, 150, 1000, 1050, 500} { // of 40 bytes each
		l.add(at, 40)
	}
	for _, tt := range []struct {
		name       string
		first, end int
		want       []video.Span
	}{
		{"all", 0, 7, []video.Span{{From: 0, To: 130}, {From: 150, To: 190}, {From: 1000, To: 1090}, {From: 500, To: 540}}},
		{"from the middle of a run", 1, 3, []video.Span{{From: 0, To: 130}}},
		{"the last one, which lies before others", 6, 99, []video.Span{{From: 500, To: 540}}},
		{"none", 3, 3, nil},
	} {
		if diff := cmp.Diff(tt.want, l.Spans(tt.first, tt.end)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if l.add(-1, 40); !l.Unknown {
		t.Error("a packet without a place leaves the layout known")
	}
}

func TestIndexOfBoxes(t *testing.T) {
	t.Parallel()
	box := func(kind string, body int) []byte {
		return append([]byte{0, 0, byte((body + 8) >> 8), byte(body + 8), kind[0], kind[1], kind[2], kind[3]}, make([]byte, body)...)
	}
	large := append([]byte{0, 0, 0, 1, 'm', 'd', 'a', 't', 0, 0, 0, 0, 0, 0, 1, 0}, make([]byte, 240)...)
	rest := append([]byte{0, 0, 0, 0, 'm', 'd', 'a', 't'}, make([]byte, 500)...)
	for _, tt := range []struct {
		name string
		file [][]byte
		want []video.Span // nil: it is not understood
	}{
		{"index last", [][]byte{box("ftyp", 24), box("mdat", 1000), box("moov", 100)}, []video.Span{{From: 0, To: 96}, {From: 1040, To: 1148}}},
		{"index first", [][]byte{box("ftyp", 24), box("moov", 100), rest}, []video.Span{{From: 0, To: 204}}},
		{"a long size", [][]byte{large, box("moov", 1)}, []video.Span{{From: 0, To: 64}, {From: 256, To: 265}}},
		{"much padding", [][]byte{box("free", 300), box("moov", 0)}, []video.Span{{From: 0, To: 64}, {From: 308, To: 316}}},
		{"cut off", [][]byte{box("ftyp", 24), box("mdat", 1000)[:500]}, nil},
		{"cut off in a header", [][]byte{box("ftyp", 24), box("mdat", 1000)[:6]}, nil},
		{"a size that cannot be", [][]byte{{0, 0, 0, 4, 'm', 'o', 'o', 'v'}}, nil},
	} {
		file := bytes.Join(tt.file, nil)
		o := &Index{Size: int64(len(file))}
		err := o.readBoxes(bytes.NewReader(file))
		if tt.want == nil && errors.Is(err, errLayout) {
			continue
		}
		if diff := cmp.Diff(tt.want, o.Structure); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.name, err, diff)
		}
	}
}

// TestIndexOfBrokenMatroska reads what is left of a file, and what becomes of
// it when bytes change. It must end, and never point outside the file.
func TestIndexOfBrokenMatroska(t *testing.T) {
	t.Parallel()
	path := enginetest.Clip(t, "a.mkv", "testsrc2=s=64x48:r=5:d=3", "-c:v", "mjpeg", "-c:a", "pcm_u8", "-ar", "8000", "-cluster_time_limit", "500")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o := &Index{Size: int64(len(file))}
	if err := o.readMatroska(bytes.NewReader(file)); err != nil || len(o.cues) < 3 {
		t.Fatalf("readMatroska = %v, with the cues %v", err, o.cues)
	}
	understood := func(file []byte) bool {
		o := &Index{Size: int64(len(file))}
		err := o.readMatroska(bytes.NewReader(file))
		if err != nil && !errors.Is(err, errLayout) {
			t.Errorf("readMatroska = %v; want errLayout", err)
		}
		for _, c := range o.cues {
			if c.at < 0 || c.at >= o.Size {
				t.Errorf("a cue points at %d of %d", c.at, o.Size)
			}
		}
		return err == nil
	}
	for n := 0; n < len(file); n += 7 {
		if understood(file[:n]) {
			t.Errorf("%d of %d bytes are taken for a whole file", n, len(file))
		}
		for _, b := range []byte{0, 0xff, file[n] ^ 0x10} {
			broken := bytes.Clone(file)
			broken[n] = b
			understood(broken)
		}
	}
}
