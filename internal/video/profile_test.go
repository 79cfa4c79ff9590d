package video_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestProfileOfARendition(t *testing.T) {
	t.Parallel()
	p := &video.Profile{Name: "course", MaxFPS: 30, Sizes: map[video.Name]video.ProfileSize{
		"1080p": {CRF: 26}, "360p": {CRF: 28, MaxFPS: 15},
	}}
	tests := []struct {
		name  string
		names []video.Name
		want  video.ProfileSize
	}{
		{"a size that it names", []video.Name{"1080p"}, video.ProfileSize{CRF: 26, MaxFPS: 30}},
		{"a size with a frame rate of its own", []video.Name{"360p"}, video.ProfileSize{CRF: 28, MaxFPS: 15}},
		{"a size that it does not name", []video.Name{"720p"}, video.ProfileSize{MaxFPS: 30}},
		{"names that share an encode: the smallest counts", []video.Name{"1080p", "360p", "720p"}, video.ProfileSize{CRF: 28, MaxFPS: 15}},
		{"no name that is left", nil, video.ProfileSize{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := p.Of(tt.names); got != tt.want {
				t.Errorf("it says %+v; want %+v", got, tt.want)
			}
		})
	}
	if got := p.Names(); !slices.Equal(got, []video.Name{"1080p", "360p"}) {
		t.Errorf("its sizes are %v", got)
	}
	if none := (*video.Profile)(nil); none.Of([]video.Name{"360p"}) != (video.ProfileSize{}) || none.Names() != nil {
		t.Error("no profile says something")
	}
}

func TestProfileThatAClientChooses(t *testing.T) {
	t.Parallel()
	all := []video.Profile{{Name: "archive"}, {Name: "course"}}
	if p, faults := video.ProfileOf("course", all); p == nil || p.Name != "course" || faults != nil {
		t.Errorf("course is %+v, %v", p, faults)
	}
	if p, faults := video.ProfileOf("", all); p != nil || faults != nil {
		t.Errorf("no name is %+v, %v", p, faults)
	}
	if _, faults := video.ProfileOf("corse", all); len(faults) != 1 || !strings.Contains(faults[0].Message, "archive, course") {
		t.Errorf("of an unknown name it says %v", faults)
	}
	if _, faults := video.ProfileOf("course", nil); len(faults) != 1 || !strings.Contains(faults[0].Message, "no profiles") {
		t.Errorf("without profiles it says %v", faults)
	}
}

// A report says what a profile changed, and nothing of the rest.
func TestDecisionsOfAProfile(t *testing.T) {
	t.Parallel()
	p := video.Plan{
		Input: video.Input{FrameRate: 50}, Profile: "course", Preset: "slow", Chunks: make([]video.Chunk, 1),
		Renditions: []video.Rendition{
			{Names: []video.Name{"720p"}, CRF: map[video.Codec]float64{video.H264: 27}, Profile: video.ProfileSize{CRF: 27, MaxBitrate: 1_500_000}},
			{Names: []video.Name{"360p"}, CRF: map[video.Codec]float64{video.H264: 26}, Profile: video.ProfileSize{MaxFPS: 25}},
		},
	}
	var said strings.Builder
	for _, d := range p.Decisions() {
		said.WriteString(d.What + " " + d.Why + "\n")
	}
	for _, want := range []string{
		"Of 50 frames per second, at most 25 are kept in 360p. The profile course says so.",
		"In the other sizes, every frame is kept",
		"720p is encoded with CRF 27. The profile course says so.",
		"H.264 is encoded with the preset slow. The profile course says so.",
		"The bitrate of 720p is at most 1500 kbit/s.",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, said.String())
		}
	}
	for i := range p.Renditions { // as where hardware encodes
		p.Renditions[i].CRF = nil
	}
	for _, d := range p.Decisions() {
		if strings.Contains(d.What, "preset") || strings.Contains(d.What, "CRF") {
			t.Errorf("of hardware it says: %s", d.What)
		}
	}
}
