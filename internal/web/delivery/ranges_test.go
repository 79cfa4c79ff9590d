package delivery

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, header string
		status       int
		want         string // the body, or the code of the problem
		contentRange string
	}{
		{"from the beginning", "bytes=0-3", 206, "0123", "bytes 0-3/10"},
		{"one byte", "bytes=9-9", 206, "9", "bytes 9-9/10"},
		{"to the end", "bytes=7-", 206, "789", "bytes 7-9/10"},
		{"past the end is cut", "bytes=7-99", 206, "789", "bytes 7-9/10"},
		{"the last bytes", "bytes=-3", 206, "789", "bytes 7-9/10"},
		{"more last bytes than there are", "bytes=-99", 206, digits, "bytes 0-9/10"},
		{"an end that overflows", "bytes=8-99999999999999999999999", 206, "89", "bytes 8-9/10"},
		{"a suffix that overflows", "bytes=-99999999999999999999999", 206, digits, "bytes 0-9/10"},
		{"the unit in capitals", "Bytes=0-0", 206, "0", "bytes 0-0/10"},
		{"empty elements of the list", "bytes=, 0-0 ,", 206, "0", "bytes 0-0/10"},

		{"after the end", "bytes=10-", 416, "range_not_satisfiable", "bytes */10"},
		{"far after the end", "bytes=99999999999999999999999-", 416, "range_not_satisfiable", "bytes */10"},
		{"a suffix of zero bytes", "bytes=-0", 416, "range_not_satisfiable", "bytes */10"},
		{"two ranges", "bytes=0-1,3-4", 416, "multiple_ranges_unsupported", "bytes */10"},
		{"a hundred ranges", "bytes=" + strings.Repeat("0-0,", 100), 416, "multiple_ranges_unsupported", "bytes */10"},

		{"another unit is ignored", "seconds=0-1", 200, digits, ""},
		{"no unit", "0-1", 200, digits, ""},
		{"no range", "bytes=", 200, digits, ""},
		{"backwards", "bytes=5-2", 200, digits, ""},
		{"letters", "bytes=a-b", 200, digits, ""},
		{"a sign", "bytes=+1-2", 200, digits, ""},
		{"only a dash", "bytes=-", 200, digits, ""},
		{"one good and one malformed", "bytes=0-1,x", 200, digits, ""},
		{"white space inside", "bytes=0 - 1", 200, digits, ""},
		{"nothing", "", 200, digits, ""},
	}
	r := newRig(t, []byte(digits), Config{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := r.do("GET", r.path, "Range", tt.header)
			if got := w.Header().Get("Content-Range"); got != tt.contentRange {
				t.Errorf("Content-Range is %q, want %q", got, tt.contentRange)
			}
			if tt.status == 416 {
				wantProblem(t, w.Code, w.Header(), w.Body, 416, tt.want)
				return
			}
			if w.Code != tt.status || w.Body.String() != tt.want {
				t.Errorf("answer is %d %q, want %d %q", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestRangeOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	for _, header := range []string{"bytes=0-", "bytes=0-1,2-3"} {
		w := r.do("GET", r.path, "Range", header)
		if w.Code != 200 || w.Body.Len() != 0 {
			t.Errorf("Range %q: answer is %d %q, want 200 and nothing", header, w.Code, w.Body)
		}
	}
}

// inMemory is a file to play.
type inMemory struct{ *bytes.Reader }

func (m inMemory) Info() blob.Info { return blob.Info{Size: m.Size(), ETag: "e1"} }

func (inMemory) Close() error { return nil }

// FuzzRange checks that no Range header makes the server panic, send other bytes
// than Content-Range says, or send more than the file has, and that a simple range
// gets exactly its bytes.
func FuzzRange(f *testing.F) {
	for _, s := range []string{"", "bytes=0-0", "bytes=5-", "bytes=-5", "bytes=0-0,2-3", "bytes=99-", "bytes=-0", "bytes=9-1", "BYTES = 1-2", "bytes=,1-1,", "bytes=18446744073709551616-"} {
		f.Add(s, uint64(1), uint64(3))
	}
	file := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, inMemory{bytes.NewReader(file)}) })

	f.Fuzz(func(t *testing.T, header string, first, last uint64) {
		w := do(h, "GET", "/", "Range", header)
		switch w.Code {
		case 200:
			if !bytes.Equal(w.Body.Bytes(), file) {
				t.Errorf("Range %q: 200 with %q", header, w.Body)
			}
		case 206:
			var from, to, size int
			if _, err := fmt.Sscanf(w.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size); err != nil {
				t.Fatalf("Range %q: Content-Range %q: %v", header, w.Header().Get("Content-Range"), err)
			}
			if from > to || to >= len(file) || size != len(file) || !bytes.Equal(w.Body.Bytes(), file[from:to+1]) {
				t.Errorf("Range %q: %q with %q", header, w.Header().Get("Content-Range"), w.Body)
			}
		case 416:
			if got := w.Header().Get("Content-Range"); got != fmt.Sprintf("bytes */%d", len(file)) {
				t.Errorf("Range %q: Content-Range %q", header, got)
			}
		default:
			t.Errorf("Range %q: answer is %d", header, w.Code)
		}

		w = do(h, "GET", "/", "Range", fmt.Sprintf("bytes=%d-%d", first, last))
		if size := uint64(len(file)); first <= last && first < size {
			if want := file[first : min(last, size-1)+1]; w.Code != 206 || !bytes.Equal(w.Body.Bytes(), want) {
				t.Errorf("bytes %d-%d: answer is %d %q, want 206 %q", first, last, w.Code, w.Body, want)
			}
		}
	})
}

// A playlist is made for clients that read it. Others learn its ETag, and its size once it is there.
func TestAPlaylistThatIsNotMadeYet(t *testing.T) {
	t.Parallel()
	r := newRig(t, makeRendition(t), Config{})
	path := r.public("720p.m3u8")
	head := r.do("HEAD", path, "Range", "bytes=0-1")
	etag := head.Header().Get("ETag")
	if _, sized := head.Header()["Content-Length"]; head.Code != 200 || sized || etag == "" || head.Header().Get("Content-Type") != "application/vnd.apple.mpegurl" {
		t.Errorf("HEAD is answered %d with %v; want the headers of the playlist, but for its size", head.Code, head.Header())
	}
	if w := r.do("GET", path, "If-None-Match", etag); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("GET of the same version is answered %d with %d bytes", w.Code, w.Body.Len())
	}
	if w := r.do("GET", path, "Range", "bytes=9999999-"); w.Code != 416 {
		t.Errorf("GET of what lies behind the end is answered %d", w.Code)
	}
	whole := r.do("GET", path)
	if whole.Code != 200 || whole.Header().Get("ETag") != etag || !strings.HasPrefix(whole.Body.String(), "#EXTM3U") {
		t.Errorf("GET is answered %d %v %q", whole.Code, whole.Header(), whole.Body)
	}
	if w := r.do("HEAD", path); w.Header().Get("Content-Length") != whole.Header().Get("Content-Length") {
		t.Errorf("HEAD of what is made says %q bytes", w.Header().Get("Content-Length"))
	}
	r.addFile("720p.mp4", makeRendition(t)[:2000])
	w := r.do("GET", path)
	wantProblem(t, w.Code, w.Header(), w.Body, 500, "internal")
}
