package encode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

// copyCase is a source, and what becomes of the wish to copy its picture.
type copyCase struct {
	name, file string
	args       []string
	reasons    []video.CopyReason // that inspecting it finds
	found      video.CopyReason   // that is found out by copying
}

var copyCases = []copyCase{
	{name: "keyframes at any time", file: "a.mp4", args: []string{"-crf", "30", "-force_key_frames", "0,1.24,3.96,4.2,7.88,8.0,8.52,9.92,16.4,25.2", "-g", "500", "-sc_threshold", "0", "-bf", "2"}},
	{name: "a pyramid of frames", file: "b.mkv", args: []string{"-g", "50", "-bf", "3", "-b-pyramid", "normal"}},
	{name: "a transport stream", file: "c.ts", args: []string{"-g", "50", "-bf", "2"}},
	{name: "Constrained Baseline", file: "d.mp4", args: []string{"-g", "60", "-profile:v", "baseline", "-bf", "0"}},
	{name: "a varying frame rate", file: "e.mp4", args: []string{"-vf", `select='not(mod(n\,5)*gt(mod(n\,7)\,3))',setpts=PTS+mod(N\,3)*0.004/TB`, "-fps_mode", "vfr", "-enc_time_base", "1:90000", "-video_track_timescale", "90000", "-g", "40"}},
	{name: "keyframes spread over many frames", file: "f.ts", args: []string{"-g", "50", "-x264-params", "intra-refresh=1:keyint=50"}, found: video.CopyOpenGOP},
	{name: "open groups", file: "g.mp4", args: []string{"-g", "50", "-x264-params", "open-gop=1:keyint=50:min-keyint=50:bframes=3"}, reasons: []video.CopyReason{video.CopyOpenGOP}},
	{name: "keyframes too far apart", file: "h.mp4", args: []string{"-g", "500", "-sc_threshold", "0"}, reasons: []video.CopyReason{video.CopyKeyframes}},
	{name: "interlaced", file: "i.mp4", args: []string{"-g", "50", "-flags", "+ildct+ilme", "-x264-params", "tff=1"}, reasons: []video.CopyReason{video.CopyInterlaced}},
	{name: "ten bits", file: "j.mp4", args: []string{"-g", "50", "-pix_fmt", "yuv420p10le"}, reasons: []video.CopyReason{video.CopyProfile, video.CopyPixelFormat}},
	{name: "4:2:2", file: "k.mp4", args: []string{"-g", "50", "-pix_fmt", "yuv422p"}, reasons: []video.CopyReason{video.CopyProfile, video.CopyPixelFormat}},
	{name: "full range", file: "l.mp4", args: []string{"-g", "50", "-pix_fmt", "yuvj420p"}, reasons: []video.CopyReason{video.CopyPixelFormat}},
	{name: "oblong pixels", file: "m.mp4", args: []string{"-g", "50", "-vf", "setsar=4/3"}, reasons: []video.CopyReason{video.CopyAspect}},
	{name: "upside down", file: "n.mp4", args: []string{"-g", "50", enginetest.Turn, "180"}, reasons: []video.CopyReason{video.CopyRotated}},
	{name: "another codec", file: "o.mp4", args: []string{"-c:v", "mpeg4", "-g", "50"}, reasons: []video.CopyReason{video.CopyCodec}},
	{name: "far too many bits", file: "p.mp4", args: []string{"-g", "50", "-qp", "0", "-profile:v", "high444", "-vf", "noise=alls=80:allf=t"}, reasons: []video.CopyReason{video.CopyProfile, video.CopyBitrate}},
	{name: "HDR", file: "q.mp4", args: []string{"-g", "50", "-color_trc", "smpte2084", "-color_primaries", "bt2020", "-colorspace", "bt2020nc"}, reasons: []video.CopyReason{video.CopyHDR}},
}

// askCopy asks for a copy of a file of 320 × 180 and a small rendition.
var askCopy = plan.Request{Names: []video.Name{"240p", "144p"}, CopySource: true}

func TestCopiedRenditions(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, tt := range copyCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"-map", "0:v", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast"}, tt.args...)
			job := enginetest.NewJob(t, enginetest.Clip(t, tt.file, "testsrc=s=320x180:r=25:d=26", args...))
			p, err := tools.Inspect(t.Context(), job, askCopy)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.reasons, p.Copy.Reasons); diff != "" {
				t.Fatalf("reasons (-want +got):\n%s", diff)
			}
			if copies := p.CopiedRendition() == 0; copies != (len(tt.reasons) == 0) || copies != p.SourceKeys() {
				t.Fatalf("the plan copies: %t; keyframes of the source: %t", copies, p.SourceKeys())
			}
			if len(tt.reasons) == 0 {
				wantCopied(t, tools, job, p, tt.found)
			}
		})
	}
}

// wantCopied makes both renditions, and compares what players get of them.
func wantCopied(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan, found video.CopyReason) {
	t.Helper()
	chunks := make([][]string, len(p.Renditions))
	for n := range p.Chunks {
		job.OutDir = t.TempDir()
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outputs {
			if o.NotCopied != "" && o.NotCopied == found && o.Path == "" {
				return
			}
			if o.NotCopied != "" || o.Frames != p.Chunks[n].Frames {
				t.Fatalf("chunk %d: %+v; want %d frames", n, o, p.Chunks[n].Frames)
			}
			chunks[o.Rendition] = append(chunks[o.Rendition], o.Path)
		}
	}
	if found != "" {
		t.Fatalf("it was copied; want %s", found)
	}
	copied, encoded := assembled(t, p, chunks[0]), assembled(t, p, chunks[1])
	a, b := stream.TrackOf("240p", copied.Video), stream.TrackOf("144p", encoded.Video)
	if len(a.Segments) != len(b.Segments) || a.Codecs[0] == b.Codecs[0] {
		t.Fatalf("%d segments of %s, and %d of %s", len(a.Segments), a.Codecs, len(b.Segments), b.Codecs)
	}
	longest := int64(0)
	for i := range a.Segments {
		x, y := a.Segments[i], b.Segments[i]
		if x.Start != y.Start || x.Frames != y.Frames {
			t.Errorf("segment %d begins at %d with %d frames, and at %d with %d", i, x.Start, x.Frames, y.Start, y.Frames)
		}
		longest = max(longest, x.End-x.Start)
	}
	if got := p.LongestSegment.Seconds() * float64(p.Timescale); float64(longest) > got+float64(p.Timescale)/10 {
		t.Errorf("the longest segment has %d ticks; the plan says %v", longest, got)
	}
}

// TestProfilesGoBeforeCopies: what the operator asks for at the size of the file is made, and not copied.
func TestProfilesGoBeforeCopies(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	file := enginetest.Clip(t, "a.mp4", "testsrc=s=320x180:r=25:d=6", "-map", "0:v", "-pix_fmt", "yuv420p", "-g", "50")
	size := func(n video.Name, s video.ProfileSize) *video.Profile {
		return &video.Profile{Name: "course", Sizes: map[video.Name]video.ProfileSize{n: s}}
	}
	tests := []struct {
		name    string
		profile *video.Profile
		want    []video.CopyReason
	}{
		{"a quality", size("240p", video.ProfileSize{CRF: 30}), []video.CopyReason{video.CopyBitrate}},
		{"a bitrate", size("240p", video.ProfileSize{MaxBitrate: 9_000_000}), []video.CopyReason{video.CopyBitrate}},
		{"fewer frames", size("240p", video.ProfileSize{MaxFPS: 10}), []video.CopyReason{video.CopyFrameRate}},
		{"as many frames as the file may have", size("240p", video.ProfileSize{MaxFPS: 30}), nil},
		{"the quality of a smaller size", size("144p", video.ProfileSize{CRF: 30}), nil},
		{"how long encoding takes, and the sound", &video.Profile{Name: "course", Preset: "slow", AudioBitrate: 96_000}, nil},
	}
	for _, tt := range tests {
		ask := askCopy
		ask.Profile = tt.profile
		p, err := tools.Inspect(t.Context(), enginetest.NewJob(t, file), ask)
		if err != nil {
			t.Fatal(err)
		}
		if copies := p.CopiedRendition() == 0; !slices.Equal(p.Copy.Reasons, tt.want) || copies != (tt.want == nil) {
			t.Errorf("%s: reasons %v, copied %t; want %v", tt.name, p.Copy.Reasons, copies, tt.want)
		}
	}
}

// TestCodecsBesideACopy compares where segments begin of a copied picture and of what is made beside it in other codecs.
// AV1 cannot follow keyframes that are not evenly apart, and is part of the streams all the same.
func TestCodecsBesideACopy(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, tt := range []struct {
		name, keys string
		same       []video.Codec // begin where the copy does
	}{
		{"keyframes every three seconds", "expr:gte(t,n_forced*3)", []video.Codec{video.AV1, video.HEVC}},
		{"keyframes at any time", "0,1.2,6.5,11,20.1,24,33.5,42,50.3,59,68", []video.Codec{video.HEVC}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-map", "0:v", "-pix_fmt", "yuv420p", "-g", "500", "-sc_threshold", "0", "-force_key_frames", tt.keys}
			job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc=s=320x180:r=10:d=70", args...))
			p, err := tools.Inspect(t.Context(), job, askCopy)
			if err != nil || p.CopiedRendition() != 0 || len(p.Chunks) < 2 {
				t.Fatalf("the plan is %+v (%v); want a copy in several chunks", p, err)
			}
			tracks := []stream.Track{madeOf(t, tools, job, p, 0)}
			for _, codec := range []video.Codec{video.AV1, video.HEVC} {
				made := madeOf(t, tools, job, p.Beside(codec, []int{0}), 0)
				made.Name = string(codec) + "-240p"
				if got, want := startsOf(made), startsOf(tracks[0]); slices.Contains(tt.same, codec) && !slices.Equal(got, want) {
					t.Errorf("segments of %s begin at %v; want %v", codec, got, want)
				}
				tracks = append(tracks, made)
			}
			if all := stream.NewPresentation(tracks, nil); len(all.Video) != 3 {
				t.Errorf("the streams have %d codecs; want 3", len(all.Video))
			}
		})
	}
}

// madeOf makes the renditions of a plan, and returns one of them as players get it.
func madeOf(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan, rendition int) stream.Track {
	t.Helper()
	var chunks []string
	for n := range p.Chunks {
		job.OutDir = t.TempDir()
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outputs {
			if o.Rendition == rendition {
				chunks = append(chunks, o.Path)
			}
		}
	}
	return stream.TrackOf("240p", assembled(t, p, chunks).Video)
}

func startsOf(t stream.Track) (all []int64) {
	for _, s := range t.Segments {
		all = append(all, s.Start)
	}
	return all
}

// assembled joins chunk files, and checks that the result is what decodes without an error.
func assembled(t *testing.T, p *video.Plan, chunks []string) *mp4.Index {
	t.Helper()
	var parts []mp4.Input
	for _, path := range chunks {
		parts = append(parts, openFile(t, path))
	}
	path := filepath.Join(t.TempDir(), "whole.mp4")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := mp4.Assemble(f, parts, nil, mp4.Timing{Length: p.Duration}); err != nil {
		t.Fatal(err)
	}
	enginetest.RunFFmpeg(t, "-v", "error", "-xerror", "-i", path, "-f", "null", "-")
	index, err := mp4.ReadIndex(openFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func openFile(t *testing.T, path string) mp4.Input {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return mp4.Input{ReaderAt: f, Size: info.Size()}
}

// TestDamagedPicturesAreNotCopied damages the middle of a file, with and without a rendition beside the copied one.
func TestDamagedPicturesAreNotCopied(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	whole := enginetest.Clip(t, "whole.mp4", "testsrc2=s=320x180:r=25:d=6", "-map", "0:v", "-pix_fmt", "yuv420p", "-g", "50")
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		text[len(text)/2+i] = byte(i * 7919 >> 3)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.mp4")
	if err := os.WriteFile(damaged, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		names      []video.Name
		want       video.CopyReason
	}{
		{"alone", damaged, []video.Name{"240p"}, video.CopyDamaged},
		{"beside another one", damaged, []video.Name{"240p", "144p"}, video.CopyDamaged},
		{"undamaged, alone", whole, []video.Name{"240p"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := enginetest.NewJob(t, tt.file)
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: tt.names, CopySource: true})
			if err != nil || p.CopiedRendition() != 0 {
				t.Fatalf("the plan is %+v (%v)", p, err)
			}
			outputs, err := tools.EncodeChunk(t.Context(), job, p, 0, nil)
			if err != nil || len(outputs) != len(tt.names) {
				t.Fatalf("EncodeChunk = %+v, %v", outputs, err)
			}
			if got := outputs[len(outputs)-1]; got.Rendition != 0 || got.NotCopied != tt.want || (got.Path == "") != (tt.want != "") {
				t.Errorf("the copied rendition is %+v; want the reason %q", got, tt.want)
			}
		})
	}
}

// TestCopiesOfTheVariety says which files of the collection are copied, and why the others are not.
func TestCopiesOfTheVariety(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	all := []string{}
	files, err := filepath.Glob(filepath.Join(footage.Path(t, "variety"), "..", "*", "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		p, err := tools.Inspect(t.Context(), enginetest.NewJob(t, path), plan.Request{Names: []video.Name{"8k"}, CopySource: true})
		if err != nil {
			continue // TestVariety says which of them are no video
		}
		why := fmt.Sprint(p.Copy.Reasons)
		if p.CopiedRendition() >= 0 {
			why = "copied"
		}
		all = append(all, filepath.Base(path)+": "+why)
	}
	enginetest.Golden(t, "copied_variety", all)
}
