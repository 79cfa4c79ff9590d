package video_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Chunks in another codec begin on the grid of two seconds, and cover the same frames without a gap.
func TestChunksBesideH264BeginOnTheGrid(t *testing.T) {
	t.Parallel()
	p := &video.Plan{
		Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}, FirstPTS: 500, Renditions: make([]video.Rendition, 2),
		Chunks: []video.Chunk{
			{Start: 500, End: 3580, Seek: video.NoSeek}, {Start: 3580, End: 3590, Seek: 3580}, {Start: 3590, End: 20500, Seek: 3590}, {Start: 20500, End: video.Forever, Seek: 20500},
		},
	}
	other := p.Beside(video.AV1, []int{1})
	want := [][2]int64{{500, 4500}, {4500, 4500}, {4500, 20500}, {20500, video.Forever}}
	for i, c := range other.Chunks {
		if c.Start != want[i][0] || c.End != want[i][1] || c.Seek != p.Chunks[i].Seek {
			t.Errorf("chunk %d is from %d to %d, found from %d on; want %v", i, c.Start, c.End, c.Seek, want[i])
		}
	}
	if other.Codec != video.AV1 || len(other.Renditions) != 1 || p.Chunks[1].Start != 3580 {
		t.Errorf("the plan is %+v, that of H.264 %+v", other, p)
	}
}

// At 119.88 frames a second a frame is shown just before 8 s. It begins the slot of 8 s, so that
// it is the one that the limit keeps, and a chunk must begin with it.
func TestChunksBeginWithAFrameThatTheLimitKeeps(t *testing.T) {
	t.Parallel()
	const frame, before8s = 1001, 959 * 1001
	p := &video.Plan{
		Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 120000}}, LimitRate: 60,
		Chunks: []video.Chunk{{End: 6 * 120000, Seek: video.NoSeek}, {Start: 6*120000 + 500, End: before8s, Seek: 1}, {Start: before8s, End: video.Forever, Seek: 2}},
	}
	chunks := p.Beside(video.AV1, nil).Chunks
	for i, c := range chunks[1:] {
		if c.Start <= before8s-frame || c.Start > before8s || chunks[i].End != c.Start {
			t.Errorf("chunk %d begins at %d and the one before it ends at %d; the first frame that is kept is at %d", i+1, c.Start, chunks[i].End, before8s)
		}
	}
}

func TestWantedRenditionsAreTheLargestFirst(t *testing.T) {
	t.Parallel()
	ready := func(n video.Name, variants ...video.Variant) video.Resolution {
		return video.Resolution{Name: n, Status: video.Ready, Variants: variants}
	}
	v := video.Video{
		Codecs: []video.Codec{video.AV1},
		Plan: &video.Plan{Renditions: []video.Rendition{
			{Width: 4, Height: 2, Names: []video.Name{"240p"}}, {Width: 8, Height: 4, Names: []video.Name{"480p", "720p"}}, {Width: 6, Height: 3, Names: []video.Name{"360p"}}, {Width: 2, Height: 2, Names: []video.Name{"144p"}},
		}},
		Resolutions: []video.Resolution{ready("240p"), ready("480p"), ready("720p"), ready("360p", video.Variant{Codec: video.AV1, Status: video.Ready}), {Name: "144p", Status: video.Fail}},
	}
	if got := v.Wanted(video.AV1); len(got) != 2 || got[0] != 1 || got[1] != 0 {
		t.Errorf("wanted are %v; want 480p and 240p", got)
	}
	if v.Codecs = nil; v.Wanted(video.AV1) != nil {
		t.Error("a video of an older version is wanted in AV1")
	}
}

func TestRetryRaisesTheCRFAsFarAsNeeded(t *testing.T) {
	t.Parallel()
	plan := func(again ...video.Codec) *video.Plan {
		return &video.Plan{Renditions: []video.Rendition{{CRF: map[video.Codec]float64{video.H264: 24, video.AV1: 40, video.HEVC: 27}, Again: again}}}
	}
	limited := func(most int64) *video.Plan {
		p := plan()
		p.Duration, p.Renditions[0].MaxBitrate = time.Second, map[video.Codec]int64{video.H264: most}
		return p
	}
	copied := limited(8000)
	copied.Renditions[0].Making = video.Copied
	tests := []struct {
		name  string
		plan  *video.Plan
		codec video.Codec
		bytes int64
		want  float64 // 0: it is not made again
	}{
		{"a little too large", plan(), video.AV1, 900, 42},
		{"as large as H.264", plan(), video.AV1, 1000, 44},
		{"so much that it would look worse", plan(), video.AV1, 1200, 0},
		{"as much, but its source held H.264 down", limited(8000), video.AV1, 1200, 48},
		{"so much that it would look worse even then", limited(8000), video.AV1, 3000, 0},
		{"its source allowed H.264 more", limited(16_000), video.AV1, 1200, 0},
		{"its H.264 picture is the source's own, which has lost nothing", copied, video.AV1, 900, 0},
		{"HEVC has larger steps", plan(), video.HEVC, 1000, 29},
		{"made again before", plan(video.AV1), video.AV1, 900, 0},
		{"another codec was made again before", plan(video.HEVC), video.AV1, 900, 42},
		{"a plan of an earlier version has no CRF", &video.Plan{Renditions: make([]video.Rendition, 1)}, video.AV1, 900, 0},
	}
	for _, tt := range tests {
		before := tt.plan.Renditions[0].CRF[tt.codec]
		next, ok := tt.plan.Retry(tt.codec, 0, tt.bytes, 1000)
		if ok != (tt.want > 0) || ok && next.Renditions[0].CRF[tt.codec] != tt.want {
			t.Errorf("%s: %t, %+v; want CRF %g", tt.name, ok, next, tt.want)
		}
		if tt.plan.Renditions[0].CRF[tt.codec] != before {
			t.Errorf("%s: the plan that is read by others changed", tt.name)
		}
		if ok {
			if _, more := next.Retry(tt.codec, 0, tt.bytes, 1000); more {
				t.Errorf("%s: it would be made a third time", tt.name)
			}
		}
	}
}
