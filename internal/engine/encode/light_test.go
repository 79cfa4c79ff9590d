package encode

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

// Whatever an HDR file says of its light is in AV1 and HEVC, too, if they are to keep it. H.264 is for ordinary screens.
func TestHDRIsKept(t *testing.T) {
	t.Parallel()
	const light = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):max-cll=1000,400"
	pq := enginetest.Clip(t, "pq.mp4", "testsrc2=s=320x180:r=25:d=1", "-vf", "format=yuv420p10le,setparams=range=tv:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084",
		"-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params", "log-level=error:"+light)
	for _, film := range []struct {
		name, source string
		want         video.DynamicRange
		transfer     string
		number       int
	}{
		{"PQ", pq, video.PQ, "smpte2084", 16},
		{"Dolby Vision with HLG", "iphone12mini_dv84_hlg_rot90.mov", video.HLG, "arib-std-b67", 18},
		{"PQ in AV1", "hdr10_av1_portrait.mp4", video.PQ, "smpte2084", 16},
	} {
		t.Run(film.name, func(t *testing.T) {
			t.Parallel()
			source := film.source
			if !filepath.IsAbs(source) {
				source = footage.Path(t, "variety/"+source)
			}
			tools := newEngine(t)
			job := enginetest.NewJob(t, source)
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, KeepHDR: true})
			if err != nil || p.Kept != film.want {
				t.Fatalf("Inspect = %+v, %v; want to keep %s", p, err, film.want)
			}
			if about := aboutLight(t, joinChunks(t, tools, job, p)); !strings.Contains(about, "yuv420p|tv|bt709|bt709|bt709") {
				t.Errorf("H.264 is %q; want it for ordinary screens", about)
			}
			for _, codec := range video.ExtraCodecs {
				made := joinChunks(t, tools, job, p.Beside(codec, []int{0}))
				about := aboutLight(t, made)
				if want := "yuv420p10le|tv|bt2020nc|" + film.transfer + "|bt2020"; !strings.Contains(about, want) {
					t.Errorf("%s is %q; want %s", codec, about, want)
				}
				exact := p.Input.Codec == string(codec) // the other one counts in other fractions
				if was := aboutLight(t, source); !sameLight(lightOf(about), lightOf(was), exact) {
					t.Errorf("%s says of its light:\n%s\nthe source:\n%s", codec, lightOf(about), lightOf(was))
				}
				if got := transferIn(t, made); got != film.number {
					t.Errorf("%s has the transfer %d in its MP4; want %d", codec, got, film.number)
				}
			}
		})
	}
}

// aboutLight is what ffprobe says of the colours of a video, and of the light of its first frame.
func aboutLight(t *testing.T, path string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#1", "-of", "compact=nk=1:p=0",
		"-show_entries", "stream=pix_fmt,color_range,color_space,color_transfer,color_primaries:frame=key_frame:side_data=side_data_type,red_x,red_y,green_x,green_y,blue_x,blue_y,white_point_x,white_point_y,min_luminance,max_luminance,max_content,max_average", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lightOf returns the mastering screen and the light level in what aboutLight said.
func lightOf(about string) string {
	var found []string
	for _, name := range []string{"Mastering display metadata", "Content light level metadata"} {
		if i := strings.Index(about, name); i >= 0 {
			text, _, _ := strings.Cut(about[i:], "\n")
			found = append(found, text)
		}
	}
	return strings.Join(found, "\n")
}

// sameLight compares two texts from lightOf: to the bit, or by the numbers that the fractions stand for.
func sameLight(a, b string, exact bool) bool {
	if a == b || exact {
		return a == b
	}
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == '\n' })
	}
	all, others := split(a), split(b)
	if len(all) != len(others) {
		return false
	}
	for i := range all {
		var n, d, m, e float64
		_, errA := fmt.Sscanf(all[i], "%g/%g", &n, &d)
		_, errB := fmt.Sscanf(others[i], "%g/%g", &m, &e)
		fractions := errA == nil && errB == nil
		if !fractions && all[i] != others[i] || fractions && math.Abs(n/d-m/e) > 1./16384 {
			return false
		}
	}
	return true
}

func transferIn(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	index, err := mp4.ReadIndex(mp4.Input{ReaderAt: f, Size: info.Size()})
	if err != nil {
		t.Fatal(err)
	}
	return index.Video.Transfer
}

// A white mark is as bright as paper, and not as bright as the sun.
func TestAWatermarkInHDRDoesNotBlind(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for transfer, want := range map[string]int{"smpte2084": 573, "arib-std-b67": 721} { // 203 cd/m²; three quarters
		source := enginetest.Clip(t, transfer+".mp4", "color=c=black:s=320x180:r=25:d=0.4", "-vf", "format=yuv420p10le,setparams=range=tv:colorspace=bt2020nc:color_primaries=bt2020:color_trc="+transfer,
			"-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params", "log-level=error")
		job := enginetest.NewJob(t, source)
		p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"240p"}, KeepHDR: true})
		if err != nil {
			t.Fatal(err)
		}
		p.Watermark = &video.Watermark{Position: "center", Width: 0.5, Opacity: 1, Aspect: 2}
		writeWatermark(t, job.OutDir, color.NRGBA{R: 255, G: 255, B: 255, A: 255})
		made, err := tools.EncodeChunk(t.Context(), job, p.Beside(video.HEVC, []int{0}), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", made[0].Path, "-frames:v", "1", "-vf", "extractplanes=y,crop=2:2", "-f", "rawvideo", "-").Output()
		if err != nil || len(raw) < 2 {
			t.Fatalf("decode: %v, %d bytes", err, len(raw))
		}
		if got := int(raw[0]) + int(raw[1])<<8; got < want-15 || got > want+15 {
			t.Errorf("in %s the mark is %d of 1023 bright; want %d", transfer, got, want)
		}
	}
}
