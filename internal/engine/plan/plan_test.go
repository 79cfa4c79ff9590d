package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestLadder(t *testing.T) {
	t.Parallel()
	r := func(w, h int, names ...video.Name) video.Rendition {
		return video.Rendition{Width: w, Height: h, Names: names}
	}
	tests := []struct {
		name    string
		w, h    float64
		asked   []video.Name
		upscale bool
		want    []video.Rendition
	}{
		{"largest comes first", 1920, 1080, []video.Name{"144p", "480p", "1080p"}, false,
			[]video.Rendition{r(1920, 1080, "1080p"), r(854, 480, "480p"), r(256, 144, "144p")}},
		{"upright videos go by their width", 1080, 1920, []video.Name{"720p"}, false, []video.Rendition{r(720, 1280, "720p")}},
		{"nothing is blown up and equals share", 1280, 720, []video.Name{"1080p", "720p", "8k"}, false,
			[]video.Rendition{r(1280, 720, "1080p", "720p", "8k")}},
		{"blown up when asked", 640, 360, []video.Name{"720p"}, true, []video.Rendition{r(1280, 720, "720p")}},
		{"an odd size is cut down", 161, 121, []video.Name{"144p"}, false, []video.Rendition{r(160, 120, "144p")}},
		{"a fraction of a pixel is rounded once", 720 * 32. / 27, 480, []video.Name{"480p"}, false, []video.Rendition{r(854, 480, "480p")}},
		{"a frame of one pixel", 1, 1, []video.Name{"144p"}, false, []video.Rendition{r(2, 2, "144p")}},
		{"a thread stays a thread", 4000, 20, []video.Name{"1080p", "144p"}, false, []video.Rendition{r(4000, 20, "1080p", "144p")}},
		{"no side beyond the decoders' reach", 4200, 20, []video.Name{"144p"}, true, []video.Rendition{r(8192, 40, "144p")}},
		{"a panorama keeps its shape", 12000, 1500, []video.Name{"1080p", "720p"}, false, []video.Rendition{r(8192, 1024, "1080p"), r(5760, 720, "720p")}},
		{"no more pixels than 8K", 4300, 2160, []video.Name{"8k"}, true, []video.Rendition{r(8192, 4116, "8k")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, DefaultSizes.ladder(tt.w, tt.h, tt.asked, tt.upscale)); diff != "" {
				t.Errorf("ladder (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLadderWithinTheSettings asks for more than the settings allow.
func TestLadderWithinTheSettings(t *testing.T) {
	t.Parallel()
	r := func(w, h int, resolution video.Name, upscale float64, names ...video.Name) video.Rendition {
		return video.Rendition{Width: w, Height: h, Names: names, MaxResolution: resolution, MaxUpscale: upscale}
	}
	all := func(max video.Name, upscale float64) SizeLimits { return SizeLimits{max, upscale} }
	tests := []struct {
		name    string
		limits  SizeLimits
		w, h    float64
		asked   []video.Name
		upscale bool
		want    []video.Rendition
	}{
		{"twice the size and no more", DefaultSizes, 426, 240, []video.Name{"1080p", "480p", "8k", "360p"}, true,
			[]video.Rendition{r(852, 480, "", 2, "1080p", "480p", "8k"), r(638, 360, "", 0, "360p")}},
		{"exactly twice the size is not capped", DefaultSizes, 426, 240, []video.Name{"480p"}, true, []video.Rendition{r(852, 480, "", 0, "480p")}},
		{"an uneven factor is rounded to even", all("8k", 1.3), 320, 181, []video.Name{"720p"}, true, []video.Rendition{r(416, 236, "", 1.3, "720p")}},
		{"1 forbids enlarging", all("8k", 1), 320, 180, []video.Name{"720p", "144p"}, true,
			[]video.Rendition{r(320, 180, "", 1, "720p"), r(256, 144, "", 0, "144p")}},
		{"a high factor allows all", all("8k", 100), 320, 180, []video.Name{"4k"}, true, []video.Rendition{r(3840, 2160, "", 0, "4k")}},
		{"not asked to enlarge", all("720p", 2), 320, 180, []video.Name{"8k"}, false, []video.Rendition{r(320, 180, "", 0, "8k")}},
		{"enlarged to the largest resolution", all("720p", 4), 640, 360, []video.Name{"4k", "720p"}, true, []video.Rendition{r(1280, 720, "720p", 0, "4k", "720p")}},
		{"the lower limit counts", all("720p", 1.5), 640, 360, []video.Name{"4k"}, true, []video.Rendition{r(960, 540, "", 1.5, "4k")}},
		{"large sources are reduced", all("1080p", 2), 3840, 2160, []video.Name{"8k", "4k", "1080p", "720p"}, false,
			[]video.Rendition{r(1920, 1080, "1080p", 0, "8k", "4k", "1080p"), r(1280, 720, "", 0, "720p")}},
		{"large sources are reduced, enlarging or not", all("1080p", 2), 3840, 2160, []video.Name{"8k"}, true, []video.Rendition{r(1920, 1080, "1080p", 0, "8k")}},
		{"upright ones as well", all("480p", 2), 1080, 1920, []video.Name{"1080p"}, false, []video.Rendition{r(480, 854, "480p", 0, "1080p")}},
		{"a source of that size is not capped", all("1080p", 2), 1920, 1080, []video.Name{"4k"}, false, []video.Rendition{r(1920, 1080, "", 0, "4k")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.limits.ladder(tt.w, tt.h, tt.asked, tt.upscale)); diff != "" {
				t.Errorf("ladder (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLadderAlwaysFits tries frames of any shape: sizes are even, within the
// limits, and never larger than the source and the settings allow.
func TestLadderAlwaysFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 20000).Draw(t, "w"), rapid.IntRange(1, 20000).Draw(t, "h")
		upscale := rapid.Bool().Draw(t, "upscale")
		limits := SizeLimits{rapid.SampledFrom(video.Names).Draw(t, "max"), rapid.Float64Range(1, 50).Draw(t, "factor")}
		for _, r := range limits.ladder(float64(w), float64(h), video.Names, upscale) {
			if r.Width%2 != 0 || r.Height%2 != 0 || min(r.Width, r.Height) < 2 || max(r.Width, r.Height) > maxSide {
				t.Fatalf("%d × %d gives %+v", w, h, r)
			}
			if blocks := ((r.Width + 15) / 16) * ((r.Height + 15) / 16); blocks > 139264 {
				t.Fatalf("%d × %d gives %+v, more than H.264 allows", w, h, r)
			}
			if !upscale && (r.Width > max(w, 2) || r.Height > max(h, 2)) {
				t.Fatalf("%d × %d is blown up to %+v", w, h, r)
			}
			short := min(r.Width, r.Height)
			if short > limits.MaxResolution.ShortSide() || float64(short) > max(float64(min(w, h))*limits.MaxUpscale+1, minSide) {
				t.Fatalf("%d × %d gives %+v with %+v", w, h, r, limits)
			}
		}
	})
}

// packets builds a timeline in milliseconds: one packet every 40 ms, a keyframe
// every second; shift moves what follows each keyframe before it.
func packets(seconds int, open bool) *probe.Timeline {
	l := probe.NewTimeline()
	for i := range seconds * 25 {
		p := probe.Packet{Type: "video", PTS: int64(i * 40), Duration: 40, Flags: "__"}
		switch {
		case i%25 == 0:
			p.Flags = "K_"
		case i%25 == 1 && open && i > 1:
			p.PTS -= 60 // shown before the keyframe that precedes it in the file
		}
		l.Add(p)
	}
	l.Sort()
	return l
}

func TestChunks(t *testing.T) {
	t.Parallel()
	ms := video.Ratio{Num: 1, Den: 1000}
	whole := []video.Chunk{{Start: 0, End: video.Forever, Seek: video.NoSeek}}
	tests := []struct {
		name     string
		line     *probe.Timeline
		reliable bool
		want     []video.Chunk
	}{
		{"a short video is one chunk", packets(29, false), true, whole},
		{"a container that cannot seek is one chunk", packets(90, false), false, whole},
		{"a short rest joins", packets(34, false), true, []video.Chunk{
			{Start: 0, End: 10_000, Seek: video.NoSeek},
			{Start: 10_000, End: 20_000, Seek: 10_000},
			{Start: 20_000, End: video.Forever, Seek: 20_000},
		}},
		{"open groups start one keyframe earlier", packets(34, true), true, []video.Chunk{
			{Start: 0, End: 10_000, Seek: video.NoSeek},
			{Start: 10_000, End: 20_000, Seek: 9_000},
			{Start: 20_000, End: video.Forever, Seek: 19_000},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, DefaultChunking.chunks(tt.line, ms, borders(tt.line), tt.reliable, likeTheRest, frameLimit{})); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThumbnailsShowWhatIsOnTheScreen(t *testing.T) {
	t.Parallel()
	got := thumbnails([]float64{0, 0.039, 0.04, 2.5, 1e12}, packets(3, false), video.Ratio{Num: 1, Den: 1000}, true)
	want := []video.Thumbnail{
		{Seconds: 0, PTS: 0, Seek: video.NoSeek},
		{Seconds: 0.039, PTS: 0, Seek: video.NoSeek},
		{Seconds: 0.04, PTS: 40, Seek: video.NoSeek},
		{Seconds: 2.5, PTS: 2480, Seek: 2000},
		{Seconds: 1e12, PTS: 2960, Seek: 2000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("thumbnails (-want +got):\n%s", diff)
	}
}

func TestTimescale(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ den, want int }{
		{12800, 12800}, {90000, 90000}, {600, 1200}, {15, 1005}, {1000, 1000}, {10_000_000, 90000}, {1_200_000, 90000},
	} {
		if got := timescale(video.Ratio{Num: 1, Den: tt.den}); got != tt.want {
			t.Errorf("timescale(1/%d) = %d; want %d", tt.den, got, tt.want)
		}
	}
}

func TestChooseStreams(t *testing.T) {
	t.Parallel()
	const json = `{"packets": [
		{"codec_type":"video","stream_index":0,"pts":0,"size":"9","flags":"K_"},
		{"codec_type":"video","stream_index":1,"pts":0,"size":"9","flags":"K_"}, {"codec_type":"video","stream_index":1,"pts":40,"size":"9","flags":"__"},
		{"codec_type":"video","stream_index":2,"pts":0,"size":"9","flags":"K_"}, {"codec_type":"video","stream_index":2,"pts":40,"size":"9","flags":"__"},
		{"codec_type":"audio","stream_index":3,"pts":0,"size":"9","flags":"K_"}, {"codec_type":"audio","stream_index":4,"pts":0,"size":"9","flags":"K_"},
		{"streams": [{"index": 0}]}
	], "programs": [], "streams": [
		{"index":0,"codec_type":"video","codec_name":"mjpeg","width":4000,"height":4000,"pix_fmt":"yuvj420p","time_base":"1/1000","disposition":{"default":1,"attached_pic":1}},
		{"index":1,"codec_type":"video","codec_name":"h264","width":320,"height":180,"pix_fmt":"yuv420p","time_base":"1/1000","disposition":{"default":0}},
		{"index":2,"codec_type":"video","codec_name":"h264","width":640,"height":360,"pix_fmt":"yuv420p","time_base":"1/1000","disposition":{"default":0},
			"side_data_list":[{"side_data_type":"Display Matrix","rotation":-90}]},
		{"index":3,"codec_type":"audio","codec_name":"aac","channels":0,"time_base":"1/44100","disposition":{"default":1}},
		{"index":4,"codec_type":"audio","codec_name":"ac3","channels":6,"time_base":"1/44100","disposition":{"default":0}}
	], "format": {"format_name": "matroska,webm"}}`
	found := probe.NewResult()
	if err := found.Read(strings.NewReader(json)); err != nil {
		t.Fatal(err)
	}
	plan, err := Make(found, Request{Names: []video.Name{"240p"}}, DefaultChunking, DefaultSizes)
	if err != nil {
		t.Fatal(err)
	}
	if in := plan.Input; in.VideoStream != 2 || in.Width != 360 || in.Height != 640 || in.Rotation != 90 {
		t.Errorf("video is %+v; want stream 2, 360 × 640, turned by 90", in)
	}
	if plan.Audio == nil || plan.Audio.Stream != 4 || plan.Audio.Bitrate != 128_000 {
		t.Errorf("audio is %+v; want stream 4", plan.Audio)
	}
	if plan.Duration != 80*time.Millisecond {
		t.Errorf("duration is %v; want 80ms", plan.Duration)
	}
}

// TestAudioThatIsNotHeardIsExplained has audio beside the pictures, which last from 10 s to 14 s.
func TestAudioThatIsNotHeardIsExplained(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		first, last int // packets of the audio, of a second
		silent      bool
		want        string
	}{
		{"before the pictures", 0, 3, true, "before the first picture"},
		{"after the pictures", 16, 18, true, "after the last picture"},
		{"from long before", 0, 13, false, "The first 10.0 s of the audio were left out"},
		{"from shortly before", 9, 13, false, ""},
		{"right behind them", 14, 16, false, ""},
	} {
		var packets []string
		for at := 10; at < 14; at++ {
			packets = append(packets, fmt.Sprintf(`{"codec_type":"video","stream_index":0,"pts":%d,"duration":1,"size":"9","flags":"K_"}`, at))
		}
		for at := tt.first; at <= tt.last; at++ {
			packets = append(packets, fmt.Sprintf(`{"codec_type":"audio","stream_index":1,"pts":%d,"duration":1,"size":"9","flags":"K_"}`, at))
		}
		found := probe.NewResult()
		if err := found.Read(strings.NewReader(`{"packets": [` + strings.Join(packets, ",") + `], "streams": [
			{"index":0,"codec_type":"video","codec_name":"h264","width":320,"height":180,"pix_fmt":"yuv420p","time_base":"1/1"},
			{"index":1,"codec_type":"audio","codec_name":"aac","channels":2,"time_base":"1/1"}], "format": {"format_name": "matroska,webm"}}`)); err != nil {
			t.Fatal(err)
		}
		plan, err := Make(found, Request{Names: []video.Name{"240p"}}, DefaultChunking, DefaultSizes)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if silent := plan.Audio == nil; silent != tt.silent {
			t.Errorf("%s: silent is %v", tt.name, silent)
		}
		if told := fmt.Sprint(plan.Warnings); (len(plan.Warnings) > 0) != (tt.want != "") || !strings.Contains(told, tt.want) {
			t.Errorf("%s: the warnings are %s; want %q", tt.name, told, tt.want)
		}
	}
}

// TestFramesOfOneTimeAreCounted has a clock that stands still: only one frame of a time is shown.
func TestFramesOfOneTimeAreCounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		codec        string
		still, moves int // packets
		want         string
	}{
		{"h264", 100, 0, "99 of 100 frames"}, {"h264", 4, 96, "3 of 100 frames"}, {"h264", 3, 97, ""}, {"h264", 4, 196, ""}, {"vp8", 100, 0, ""},
	} {
		var packets []string
		for i := range tt.still + tt.moves {
			packets = append(packets, fmt.Sprintf(`{"codec_type":"video","stream_index":0,"pts":%d,"duration":40,"size":"9","flags":"K_"}`, 40*max(i-tt.still, 0)))
		}
		if tt.moves > 0 { // the frame at 0 is one of those that stand still
			packets[tt.still] = `{"codec_type":"video","stream_index":0,"pts":20,"duration":20,"size":"9","flags":"K_"}`
		}
		found := probe.NewResult()
		if err := found.Read(strings.NewReader(`{"packets": [` + strings.Join(packets, ",") + `], "streams": [{"index":0,"codec_type":"video",
			"codec_name":"` + tt.codec + `","width":320,"height":180,"pix_fmt":"yuv420p","time_base":"1/1000","field_order":"progressive"}], "format": {"format_name": "mov,mp4,m4a,3gp,3g2,mj2"}}`)); err != nil {
			t.Fatal(err)
		}
		plan, err := Make(found, Request{Names: []video.Name{"240p"}}, DefaultChunking, DefaultSizes)
		if err != nil {
			t.Fatal(err)
		}
		if told := fmt.Sprint(plan.Warnings); (len(plan.Warnings) > 0) != (tt.want != "") || !strings.Contains(told, tt.want) {
			t.Errorf("%s, %d + %d: the warnings are %s; want %q", tt.codec, tt.still, tt.moves, told, tt.want)
		}
	}
}

func TestRefusedByPlan(t *testing.T) {
	t.Parallel()
	film := func(packets, stream string) string {
		return `{"packets": [` + packets + `], "streams": [{"index":0,"codec_type":"video","time_base":"1/1000",` + stream + `}], "format": {}}`
	}
	const one = `{"codec_type":"video","stream_index":0,"pts":0,"size":"9","flags":"K_"}`
	const good = `"codec_name":"h264","width":320,"height":180,"pix_fmt":"yuv420p"`
	tests := []struct {
		name, json string
		want       video.FailureCode
	}{
		{"no streams", `{"packets": [], "streams": [], "format": {}}`, video.NoVideoStream},
		{"no decoder", film(one, `"codec_tag_string":"vvc1","width":320,"height":180`), video.UnsupportedCodec},
		{"encrypted packets", film(`{"codec_type":"video","stream_index":0,"pts":0,"flags":"K_","side_data_list":[{"side_data_type":"Encryption info"}]}`, good), video.Encrypted},
		{"encrypted sample entry", film(one, `"codec_tag_string":"encv",`+good), video.Encrypted},
		{"more pixels than can be counted", film(one, `"codec_name":"h264","width":4611686018427387904,"height":180,"pix_fmt":"yuv420p"`), video.TooManyPixels},
		{"too many pixels", film(one, `"codec_name":"h264","width":8192,"height":8192,"pix_fmt":"yuv420p"`), video.TooManyPixels},
		{"no packets", film("", good), video.Corrupt},
		{"too long", film(one+`,{"codec_type":"video","stream_index":0,"pts":43200001,"flags":"__"}`, good), video.TooLong},
		{"nonsense times", film(one+`,{"codec_type":"video","stream_index":0,"pts":9223372036854775807,"flags":"__"},{"codec_type":"video","stream_index":0,"pts":-9223372036854775807,"flags":"__"}`, good), video.TooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := probe.NewResult()
			if err := found.Read(strings.NewReader(tt.json)); err != nil {
				t.Fatal(err)
			}
			_, err := Make(found, Request{Names: []video.Name{"240p"}}, DefaultChunking, DefaultSizes)
			if f, _ := errors.AsType[*video.Failure](err); f == nil || f.Code != tt.want || len(f.Message) < 10 {
				t.Errorf("Make = %v; want failure %s with a sentence", err, tt.want)
			}
		})
	}
}

// Progress is a part of the duration, so that must never be nothing.
func TestTimesWithoutLength(t *testing.T) {
	t.Parallel()
	found := probe.NewResult()
	if err := found.Read(strings.NewReader(`{"packets": [{"codec_type":"video","stream_index":0,"pts":0,"duration":1,"flags":"K_"}], "streams": [{"index":0,
		"codec_type":"video","codec_name":"h264","width":320,"height":180,"pix_fmt":"yuv420p","time_base":"1/9223372036854775807"}], "format": {}}`)); err != nil {
		t.Fatal(err)
	}
	plan, err := Make(found, Request{Names: []video.Name{"240p"}}, DefaultChunking, DefaultSizes)
	if err != nil || plan.Duration <= 0 {
		t.Errorf("Make = %+v, %v; want a video that lasts", plan, err)
	}
}
