package direct

import (
	"bufio"
	"bytes"
	"net/http"
	"reflect"
	"testing"
)

// FuzzParse compares with net/http: what is accepted here, it understands in the same way, and it finds
// the same end.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"GET /v/a/720p.mp4 HTTP/1.1\r\nHost: a:80\r\nRange: bytes=0-1\r\n\r\n",
		"HEAD /v/a HTTP/1.1\r\nhost:a\r\nAccept: a\r\naccept:\tb \r\n\r\nGET",
		"GET /v/../a//b HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: keep-alive\r\n\r\n",
		"GET /v/a HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello",
		"GET /v/a HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := new(http.Request)
		size := parse(b, "/v/", got)
		if size == 0 {
			return
		}
		in := bufio.NewReaderSize(bytes.NewReader(b), max(16, len(b)+1))
		want, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b, err)
		}
		if left := in.Buffered(); left != len(b)-size {
			t.Errorf("of %q, %d bytes are left, want %d", b, len(b)-size, left)
		}
		if got.Method != want.Method || *got.URL != *want.URL || got.RequestURI != want.RequestURI || got.Host != want.Host || got.Proto != want.Proto ||
			got.ProtoMajor != want.ProtoMajor || got.ProtoMinor != want.ProtoMinor || !reflect.DeepEqual(got.Header, want.Header) ||
			want.ContentLength != 0 || want.TransferEncoding != nil || want.Close || want.Body != http.NoBody {
			t.Errorf("%q is\n  %+v, for net/http\n  %+v", b, got, want)
		}
	})
}
