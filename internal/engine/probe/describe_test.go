package probe

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/video"
)

func TestAllStreams(t *testing.T) {
	t.Parallel()
	const text = `{"packets":[],"streams":[
		{"index":0,"codec_type":"video","codec_name":"h264","disposition":{"default":1,"forced":0}},
		{"index":1,"codec_type":"audio","codec_name":"none","codec_tag_string":"QDMC","tags":{"language":"eng"}},
		{"index":2,"codec_type":"subtitle","codec_name":"subrip","disposition":{"default":0,"forced":1,"hearing_impaired":1,"of_a_newer_ffmpeg":1},
		 "tags":{"language":"fre","title":" Pour\u0000 les\n\u202esourds \ufffd"}},
		{"index":3}],"format":{}}`
	want := []video.Stream{
		{Index: 0, Type: "video", Codec: "h264", Dispositions: []string{"default"}},
		{Index: 1, Type: "audio", Codec: "QDMC", Language: "eng"},
		{Index: 2, Type: "subtitle", Codec: "subrip", Language: "fre", Title: "Pour les sourds", Dispositions: []string{"forced", "hearing_impaired"}},
		{Index: 3, Codec: "unknown"},
	}
	found := NewResult()
	if err := found.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if got := found.AllStreams(); !reflect.DeepEqual(got, want) {
		t.Errorf("streams are\n%+v\nwant\n%+v", got, want)
	}
}

// What a hostile file says of its streams is stored and shown.
func TestStreamsOfAHostileFileAreBounded(t *testing.T) {
	t.Parallel()
	found := NewResult()
	for i := range 1000 {
		s := Stream{Index: i}
		s.Tags.Language, s.Tags.Title = strings.Repeat("é", 1000), strings.Repeat("a \x1b[2J", 1000)
		found.Streams = append(found.Streams, s)
	}
	all := found.AllStreams()
	if len(all) != maxStreams {
		t.Errorf("%d streams are kept; want %d", len(all), maxStreams)
	}
	for _, s := range all {
		if n := utf8.RuneCountInString(s.Language); n != maxLanguage {
			t.Fatalf("a language has %d characters; want %d", n, maxLanguage)
		}
		if n := utf8.RuneCountInString(s.Title); n > maxTitle || n < maxTitle/2 || strings.ContainsRune(s.Title, '\x1b') {
			t.Fatalf("a title has %d characters: %q", n, s.Title)
		}
	}
}

// ffprobe repeats a title of any length, which a decoder would hold in memory.
func TestATitleOfManyMegabytesIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size int
		ok   bool
	}{{1 << 20, true}, {8 << 20, false}} {
		title := strings.Repeat("x", tt.size)
		stream := fmt.Sprintf(`{"index":0,"tags":{"title":%q}}`, title)
		packets := strings.Repeat(`{"codec_type":"video","stream_index":0,"pts":1,"size":"5","pos":"1"},`, 65_000) // together more than one value may have
		err := NewResult().Read(strings.NewReader(`{"packets":[` + packets + `{}],"streams":[` + stream + `,` + stream + `],"format":{}}`))
		failure, ok := errors.AsType[*video.Failure](err)
		if tt.ok != (err == nil) || !tt.ok && (!ok || failure.Code != video.Corrupt) {
			t.Errorf("a title of %d bytes gives %v", tt.size, err)
		}
	}
}
