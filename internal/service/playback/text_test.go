package playback_test

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// Segments of text end with the video, or with the last text, and with the captions.
func TestTextSegmentsHaveAnEnd(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	prefix := "public/" + string(id) + "/"
	const short, long = "captions-en-0123456789ab", "captions-de-0123456789ab"
	putFile(b, prefix+"720p.mp4", runFFmpeg(t, "-f lavfi -i testsrc2=s=32x18:r=5:d=7"))
	for range 2 { // the second time, the captions are known
		putFile(b, prefix+short+".vtt", []byte("WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n"))
		putFile(b, prefix+long+".vtt", []byte("WEBVTT\n\n00:14.000 --> 00:15.000\nBehind\n"))
		for name, want := range map[string]string{
			short + "-0.vtt": "Hello", short + "-1.vtt": "WEBVTT", short + "-2.vtt": "", short + "-599999.vtt": "", short + "-600000.vtt": "",
			long + "-0.vtt": "WEBVTT", long + "-2.vtt": "Behind", long + "-3.vtt": "",
		} {
			o, err := b.OpenPublic(t.Context(), id, name)
			if want == "" {
				servicetest.WantCode(t, err, video.NotFound, "not_found")
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if text := servicetest.ReadAll(t, o); !strings.Contains(text, want) {
				t.Errorf("%s is %q; want %s", name, text, want)
			}
		}
		for _, name := range []string{short, long} {
			if err := b.Blobs.Delete(t.Context(), prefix+name+".vtt"); err != nil {
				t.Fatal(err)
			}
			_, err := b.OpenPublic(t.Context(), id, name+"-0.vtt")
			servicetest.WantCode(t, err, video.NotFound, "not_found")
		}
	}
}
