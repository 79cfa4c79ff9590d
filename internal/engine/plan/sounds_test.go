package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// foundTracks returns a file with a picture and sound tracks. Each is what ffprobe says of it but for its index and times.
func foundTracks(t *testing.T, tracks ...string) *probe.Result {
	t.Helper()
	packets := []string{`{"codec_type":"video","stream_index":0,"pts":0,"duration":4000,"size":"9","flags":"K_"}`}
	streams := []string{`{"index":0,"codec_type":"video","codec_name":"h264","width":64,"height":36,"pix_fmt":"yuv420p","time_base":"1/1000"}`}
	for i, track := range tracks {
		packets = append(packets, fmt.Sprintf(`{"codec_type":"audio","stream_index":%d,"pts":0,"duration":3000,"size":"9","flags":"K_"}`, i+1))
		streams = append(streams, fmt.Sprintf(`{"index":%d,"codec_type":"audio","channels":2,"time_base":"1/1000",%s}`, i+1, track))
	}
	found := probe.NewResult()
	text := fmt.Sprintf(`{"packets":[%s],"streams":[%s],"format":{"format_name":"matroska,webm"}}`, strings.Join(packets, ","), strings.Join(streams, ","))
	if err := found.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSoundTracksOfAFile(t *testing.T) {
	t.Parallel()
	const aac = `"codec_name":"aac"`
	for _, tt := range []struct {
		name   string
		tracks []string
		want   []string // stream, language, label and kind, the default first
	}{
		{"none", nil, nil},
		{"a recorder writes und", []string{aac + `,"tags":{"language":"und"}`, aac, aac + `,"tags":{"language":"nonsense"}`},
			[]string{"1 und Sound main", "2 und Sound 2 main", "3 und Sound 3 main"}},
		{"the default is not the first", []string{aac + `,"tags":{"language":"ger"}`, aac + `,"tags":{"language":"eng"},"disposition":{"default":1}`},
			[]string{"2 en English main", "1 de Deutsch main"}},
		{"purposes and titles", []string{
			aac + `,"tags":{"language":"eng"},"disposition":{"default":1}`, aac + `,"tags":{"language":"fre"},"disposition":{"dub":1}`,
			aac + `,"tags":{"language":"eng","title":"The director\nspeaks"},"disposition":{"comment":1}`,
			aac + `,"tags":{"language":"eng"},"disposition":{"visual_impaired":1}`, aac + `,"disposition":{"descriptions":1}`,
		}, []string{"1 en English main", "2 fr français dub", "3 en The director speaks commentary", "4 en English – Audio description description", "5 und Audio description description"}},
		{"one cannot be decoded", []string{`"codec_name":"none","codec_tag_string":"QDMC"`, aac}, []string{"2 und Sound 2 main", "1 und Sound main unsupported_codec"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Make(foundTracks(t, tt.tracks...), Request{Names: []video.Name{"144p"}}, DefaultChunking, DefaultSizes)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range p.Sounds() {
				a := p.Sound(i).Audio
				text := fmt.Sprintf("%d %s %s %s", a.Stream, a.Language, a.Label, a.Kind)
				if a.Failure != nil {
					text += " " + string(a.Failure.Code)
				}
				got = append(got, text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the tracks are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTooManySoundTracks(t *testing.T) {
	t.Parallel()
	found := foundTracks(t, slices.Repeat([]string{`"codec_name":"aac"`}, 18)...)
	p, err := Make(found, Request{Names: []video.Name{"144p"}}, DefaultChunking, DefaultSizes)
	if err != nil {
		t.Fatal(err)
	}
	told := slices.ContainsFunc(p.Warnings, func(w video.Warning) bool { return w.Code == video.TooManyTracks })
	if p.Sounds() != video.MaxEmbeddedTracks || !told {
		t.Errorf("%d tracks are made, with the warnings %v", p.Sounds(), p.Warnings)
	}
}
