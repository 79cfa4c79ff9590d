package video_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spool-video/spool/internal/video"
)

// wholePlan returns a plan in which no field has its zero value.
func wholePlan() *video.Plan {
	return &video.Plan{
		Input: video.Input{
			Container: "mov,mp4,m4a,3gp,3g2,mj2", VideoStream: 1, Codec: "hevc", PixelFormat: "yuv420p10le",
			Width: 1080, Height: 1920, CodedWidth: 1920, CodedHeight: 1088, Rotation: 90,
			TimeBase: video.Ratio{Num: 1, Den: 90000}, FrameRate: 29.97002997002997,
			Matrix: "bt2020nc", Transfer: "arib-std-b67", Primaries: "bt2020", FullRange: true, Bitrate: 24_000_000,
		},
		Timescale: 30000, FirstPTS: -3003, Duration: 61*time.Second + 61_033_333, Frames: 1830,
		Deinterlace: true, ToneMap: true, LimitRate: 60,
		Renditions: []video.Rendition{
			{Width: 1080, Height: 1920, Names: []video.Name{"8k", "4k", "1080p"}},
			{Width: 720, Height: 1280, Names: []video.Name{"720p"}},
		},
		Chunks: []video.Chunk{
			{Start: -3003, End: 2_699_697, Seek: video.NoSeek},
			{Start: 2_699_697, End: video.Forever, Seek: 2_696_694},
		},
		Audio:      &video.Audio{Stream: 2, Codec: "aac", Channels: 6, Bitrate: 128_000},
		Thumbnails: []video.Thumbnail{{Seconds: 0.1, PTS: 6006, Seek: video.NoSeek}, {Seconds: 1e9, PTS: math.MaxInt64 - 1, Seek: 2_696_694}},
	}
}

func TestPlanSurvivesJSON(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*video.Plan{
		"with everything": wholePlan(),
		"with the least":  {Chunks: []video.Chunk{{End: video.Forever, Seek: video.NoSeek}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			got := new(video.Plan)
			if err := json.Unmarshal(text, got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, p) {
				t.Errorf("plan came back as %+v, want %+v; JSON: %s", got, p, text)
			}
		})
	}
}

// Plans lie in databases for as long as their videos are worked on, so a newer
// binary reads what an older one wrote. This text is never to be changed; add
// another one when fields are added.
func TestPlanOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	const stored = `{"input":{"container":"mov,mp4,m4a,3gp,3g2,mj2","videoStream":1,"codec":"hevc",` +
		`"pixelFormat":"yuv420p10le","width":1080,"height":1920,"codedWidth":1920,"codedHeight":1088,"rotation":90,` +
		`"timeBase":{"num":1,"den":90000},"frameRate":29.97002997002997,"matrix":"bt2020nc","transfer":"arib-std-b67",` +
		`"primaries":"bt2020","fullRange":true,"bitrate":24000000},"timescale":30000,"firstPts":-3003,` +
		`"duration":61061033333,"frames":1830,"deinterlace":true,"toneMap":true,"limitRate":60,` +
		`"renditions":[{"width":1080,"height":1920,"names":["8k","4k","1080p"]},{"width":720,"height":1280,"names":["720p"]}],` +
		`"chunks":[{"start":-3003,"end":2699697,"seek":-9223372036854775808},` +
		`{"start":2699697,"end":9223372036854775807,"seek":2696694}],` +
		`"audio":{"stream":2,"codec":"aac","channels":6,"bitrate":128000},` +
		`"thumbnails":[{"seconds":0.1,"pts":6006,"seek":-9223372036854775808},` +
		`{"seconds":1000000000,"pts":9223372036854775806,"seek":2696694}]}`
	got := new(video.Plan)
	if err := json.Unmarshal([]byte(stored), got); err != nil {
		t.Fatal(err)
	}
	if want := wholePlan(); !reflect.DeepEqual(got, want) {
		t.Errorf("stored plan reads as %+v, want %+v", got, want)
	}
}

func TestRenditionOf(t *testing.T) {
	t.Parallel()
	p := wholePlan()
	for name, want := range map[video.Name]int{"8k": 0, "4k": 0, "1080p": 0, "720p": 1, "480p": -1, "": -1} {
		if got := p.RenditionOf(name); got != want {
			t.Errorf("RenditionOf(%q) = %d, want %d", name, got, want)
		}
	}
	if got := new(video.Plan).RenditionOf("720p"); got != -1 {
		t.Errorf("RenditionOf on an empty plan = %d, want -1", got)
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	ninety := video.Ratio{Num: 1, Den: 90000}
	tests := []struct {
		name  string
		first int64
		base  video.Ratio
		chunk video.Chunk
		want  time.Duration
	}{
		{"a chunk in the middle", 0, ninety, video.Chunk{Start: 900_000, End: 1_800_000}, 10 * time.Second},
		{"the only chunk of a film", 0, ninety, video.Chunk{Start: 0, End: video.Forever}, time.Minute},
		{"the last chunk plays to the end", 0, ninety, video.Chunk{Start: 4_500_000, End: video.Forever}, 10 * time.Second},
		{"a film that starts late", 180_000, ninety, video.Chunk{Start: 180_000, End: video.Forever}, time.Minute},
		{"the last chunk of a film that starts late", 180_000, ninety, video.Chunk{Start: 4_680_000, End: video.Forever}, 10 * time.Second},
		{"a film that starts before zero", -90_000, ninety, video.Chunk{Start: -90_000, End: 0}, time.Second},
		{"a time base that is no whole fraction", 0, video.Ratio{Num: 1001, Den: 30000}, video.Chunk{Start: 0, End: 300}, 10_010 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := video.Plan{FirstPTS: tt.first, Duration: time.Minute, Input: video.Input{TimeBase: tt.base}, Chunks: []video.Chunk{tt.chunk}}
			if got := p.Length(0); got != tt.want {
				t.Errorf("Length = %s, want %s", got, tt.want)
			}
		})
	}
}

// The lengths of all chunks add up to the film's, to the nanosecond: nothing is
// lost between two of them.
func TestLengthsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := video.Plan{
			FirstPTS: rapid.Int64Range(-1e9, 1e9).Draw(t, "first"),
			Duration: 100 * time.Hour,
			Input: video.Input{TimeBase: video.Ratio{
				Num: rapid.SampledFrom([]int{1, 1001}).Draw(t, "num"), Den: rapid.IntRange(24_000, 192_000).Draw(t, "den")}},
		}
		at := p.FirstPTS
		for _, ticks := range rapid.SliceOfN(rapid.Int64Range(1, 100_000), 0, 50).Draw(t, "borders") {
			p.Chunks = append(p.Chunks, video.Chunk{Start: at, End: at + ticks})
			at += ticks
		}
		p.Chunks = append(p.Chunks, video.Chunk{Start: at, End: video.Forever})
		var sum time.Duration
		for i := range p.Chunks {
			sum += p.Length(i)
		}
		if sum != p.Duration {
			t.Fatalf("the chunks play %s together, the film %s", sum, p.Duration)
		}
	})
}

func TestRatioSeconds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ratio video.Ratio
		ticks int64
		want  float64
	}{
		{video.Ratio{Num: 1, Den: 90000}, 45000, 0.5},
		{video.Ratio{Num: 1, Den: 90000}, -90000, -1},
		{video.Ratio{Num: 1001, Den: 30000}, 30000, 1001},
		{video.Ratio{Num: 1, Den: 1000}, 0, 0},
	}
	for _, tt := range tests {
		if got := tt.ratio.Seconds(tt.ticks); got != tt.want {
			t.Errorf("%v.Seconds(%d) = %v, want %v", tt.ratio, tt.ticks, got, tt.want)
		}
	}
}
