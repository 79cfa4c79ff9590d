package encode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

const subrip = "1\n00:00:00,200 --> 00:00:00,900\n<i>Hello</i> & you\n\n2\n00:00:01,000 --> 00:00:01,500\nBye\n"

// withText makes a clip with text tracks.
func withText(t *testing.T, name string, args ...string) string {
	t.Helper()
	text := filepath.Join(t.TempDir(), "text.srt")
	if err := os.WriteFile(text, []byte(subrip), 0o600); err != nil {
		t.Fatal(err)
	}
	inputs := []string{"-i", text}
	for len(args) > 0 && args[0] == "-i" {
		inputs, args = append(inputs, args[:2]...), args[2:]
	}
	return enginetest.Clip(t, name, "testsrc2=s=64x36:r=25:d=2", append(append(inputs, "-c:v", "libx264", "-preset", "ultrafast", "-map", "0:v", "-t", "2"), args...)...)
}

// captionsOf inspects a file and reads its text tracks.
func captionsOf(t *testing.T, path string) (*video.Plan, []Text) {
	t.Helper()
	e, job := newEngine(t), enginetest.NewJob(t, path)
	p, err := e.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := e.Captions(t.Context(), job, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, texts
}

func TestTextTracksAreRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		args   []string
		tracks int
	}{
		{"mov_text.mp4", []string{"-map", "2:s", "-c:s", "mov_text", "-metadata:s:s:0", "language=ger"}, 1},
		{"three.mkv", []string{"-map", "2:s", "-map", "2:s", "-map", "2:s", "-c:s:0", "subrip", "-c:s:1", "ass", "-c:s:2", "webvtt"}, 3},
		{"none.mp4", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := withText(t, tt.name, tt.args...)
			p, texts := captionsOf(t, path)
			if len(p.TextTracks()) != tt.tracks || len(texts) != tt.tracks {
				t.Fatalf("%d tracks are found and %d read, want %d: %+v", len(p.TextTracks()), len(texts), tt.tracks, p.Streams)
			}
			for _, text := range texts {
				got := string(text.Text)
				cues, err := webvtt.ParseForgiving(text.Text)
				if err != nil || len(cues) != 2 || cues[0].Start != 200*time.Millisecond || cues[0].End != 900*time.Millisecond ||
					!strings.Contains(cues[0].Lines[0], "Hello") || !strings.HasSuffix(cues[0].Lines[0], "&amp; you") || cues[1].Lines[0] != "Bye" {
					t.Errorf("the text of %s is\n%s", text.Stream.Codec, got)
				}
			}
		})
	}
}

// TestCharactersThatLookLikeTags are kept, as a viewer would read them.
func TestCharactersThatLookLikeTags(t *testing.T) {
	t.Parallel()
	const (
		vtt = "WEBVTT\n\n00:00.200 --> 00:00.900 line:0\na &lt; b and c &gt; d, R&amp;D\n\n00:01.000 --> 00:01.500\nthe &lt;br&gt; tag, <i>C:\\home</i>\n"
		srt = "1\n00:00:00,200 --> 00:00:00,900\na < b and c > d, R&D\n\n2\n00:00:01,000 --> 00:00:01,500\nthe &lt;br&gt; tag, <i>C:\\home</i>\n"
	)
	dir := t.TempDir()
	clip := filepath.Join(dir, "clip.mkv")
	args := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x36:r=5:d=2"}
	for name, text := range map[string]string{"a.vtt": vtt, "a.srt": srt} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-i", filepath.Join(dir, name))
	}
	enginetest.RunFFmpeg(t, append(args, "-map", "0", "-map", "1", "-map", "2", "-c:s", "copy", "-preset", "ultrafast", clip)...)
	_, texts := captionsOf(t, clip)
	if len(texts) != 2 {
		t.Fatalf("%d tracks are read; want 2", len(texts))
	}
	for _, text := range texts {
		cues, err := webvtt.ParseForgiving(text.Text)
		if err != nil || len(cues) != 2 {
			t.Fatalf("the text of %s is %q, %v", text.Stream.Codec, text.Text, err)
		}
		for i, want := range []string{"a &lt; b and c &gt; d, R&amp;D", `the &lt;br&gt; tag, <i>C:\home</i>`} {
			if got := cues[i].Lines[0]; got != want {
				t.Errorf("%s has %q; want %q", text.Stream.Codec, got, want)
			}
		}
	}
}

// TestATrackThatCannotBeReadCostsTheOthersNothing wants the texts of the others as if they were alone, also what
// looks like a tag.
func TestATrackThatCannotBeReadCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, clip := filepath.Join(dir, "a.srt"), filepath.Join(dir, "a.mkv")
	if err := os.WriteFile(text, []byte("1\n00:00:00,200 --> 00:00:00,900\na <b and c> d, &lt;br&gt;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x36:r=5:d=2", "-i", text, "-map", "0", "-map", "1", "-map", "1",
		"-c:s:0", "copy", "-c:s:1", "webvtt", "-preset", "ultrafast", clip)
	e, job := newEngine(t), enginetest.NewJob(t, clip)
	p, err := e.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	p.Streams = append(p.Streams, video.Stream{Index: 7, Type: "subtitle", Codec: "subrip"}) // there is none
	texts, err := e.Captions(t.Context(), job, p, nil)
	if err != nil || len(texts) != 2 {
		t.Fatalf("the captions are %+v, %v; want those of the tracks that are there", texts, err)
	}
	if got := texts[0]; !got.Copied || !strings.Contains(string(got.Text), "a <b and c> d, &lt;br&gt;") || !texts[1].Copied {
		t.Errorf("the captions are %q, copied: %t and %t", got.Text, got.Copied, texts[1].Copied)
	}
}

// TestEmptyTracksAreReadOnce has tracks without a text within the video, such as those that translate signs only.
func TestEmptyTracksAreReadOnce(t *testing.T) {
	t.Parallel()
	late := filepath.Join(t.TempDir(), "late.srt")
	if err := os.WriteFile(late, []byte("1\n00:01:00,000 --> 00:01:01,000\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, codec := range map[string]string{"a.mkv": "subrip", "a.mp4": "mov_text", "b.mkv": "webvtt"} {
		e, job := newEngine(t), enginetest.NewJob(t, withText(t, name, "-i", late, "-map", "3:s", "-map", "2:s", "-c:s", codec))
		p, err := e.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
		if err != nil || len(p.TextTracks()) != 2 {
			t.Fatalf("%s: %d tracks are found, %v", name, len(p.TextTracks()), err)
		}
		runs := 0
		job.Ran = func(video.Execution) { runs++ }
		texts, err := e.Captions(t.Context(), job, p, nil)
		if err != nil || len(texts) != 1 || !strings.Contains(string(texts[0].Text), "Bye") || runs != 1 {
			t.Errorf("%s: after %d runs the captions are %+v, %v", name, runs, texts, err)
		}
	}
}

func TestCaptionsOfRealRecordings(t *testing.T) {
	t.Parallel()
	_, texts := captionsOf(t, footage.Path(t, "variety", "multi_av_subs_nasa.mp4"))
	if len(texts) != 2 || strings.Count(string(texts[0].Text), "-->") == 0 {
		t.Errorf("the captions are %+v", texts)
	}
	p, texts := captionsOf(t, footage.Path(t, "variety", "mpeg2_tff_captions.ts"))
	if len(p.TextTracks()) != 0 || len(texts) != 1 || !strings.Contains(string(texts[0].Text), "MANUFACTURERS ARE ABOUT AS") {
		t.Errorf("the closed captions are %+v", texts)
	}
}

// TestABroadcastWithoutClosedCaptions searches one, and decodes it no further.
func TestABroadcastWithoutClosedCaptions(t *testing.T) {
	t.Parallel()
	path := withText(t, "plain.ts")
	if p, texts := captionsOf(t, path); !p.MayHaveClosedCaptions() || len(texts) != 0 {
		t.Errorf("the captions of a %s are %+v", p.Input.Container, texts)
	}
}

func TestCaptionsArguments(t *testing.T) {
	t.Parallel()
	job := ffmpeg.Job{Source: "/task/in/source", OutDir: "/task/out"}
	enginetest.Golden(t, "closed_captions", closedArgs(job, "../in/source"))
	enginetest.Golden(t, "closed_captions_search", closedSearchArgs(job, basicPlan(nil)))
	enginetest.Golden(t, "captions", captionsArgs(job, basicPlan(nil), []video.Stream{{Index: 2}, {Index: 5}}, true))
}
