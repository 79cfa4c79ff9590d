package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spool-video/spool/test/footage"
)

type recipe struct{ file, codecs string }

// recipes are the kinds of videos that are damaged: each container with codecs
// that are usual in it. The name of the file chooses the container.
var recipes = []recipe{
	{"h264.mp4", "-c:v libx264 -bf 2 -c:a aac"},
	{"faststart.mp4", "-c:v libx264 -c:a aac -movflags +faststart"},
	{"fragmented.mp4", "-c:v libx264 -g 5 -c:a aac -movflags +frag_keyframe+empty_moov"},
	{"hevc.mp4", "-c:v libx265 -x265-params log-level=none -c:a aac"},
	{"av1.mp4", "-c:v libaom-av1 -cpu-used 8 -usage realtime -an"},
	{"pcm.mov", "-c:v mjpeg -pix_fmt yuvj420p -q:v 20 -c:a pcm_s16be -ar 8000"},
	{"prores.mov", "-c:v prores_ks -profile:v 0 -qscale:v 31 -t 0.3 -c:a aac"},
	{"h264.mkv", "-c:v libx264 -c:a libvorbis"},
	{"ffv1.mkv", "-c:v ffv1 -t 0.4 -c:a flac -ar 8000"},
	{"vp8.webm", "-c:v libvpx -c:a libopus"},
	{"vp9.webm", "-c:v libvpx-vp9 -c:a libopus"},
	{"mpeg4.avi", "-c:v mpeg4 -c:a libmp3lame"},
	{"huffyuv.avi", "-c:v huffyuv -t 0.3 -c:a pcm_u8 -ar 8000"},
	{"h264.ts", "-c:v libx264 -c:a aac"},
	{"mpeg2.ts", "-c:v mpeg2video -flags +ilme+ildct -c:a mp2"},
	{"mpeg1.mpg", "-c:v mpeg1video -c:a mp2 -r 25"},
	{"flv1.flv", "-c:v flv -c:a libmp3lame -ar 22050"},
	{"wmv2.wmv", "-c:v wmv2 -c:a wmav2"},
	{"theora.ogv", "-c:v libtheora -c:a libvorbis"},
	{"h263.3gp", "-c:v h263 -s 176x144 -c:a aac"},
	{"raw.h264", "-c:v libx264 -an"},
	{"raw.hevc", "-c:v libx265 -x265-params log-level=none -an"},
	{"camera.dv", "-c:v dvvideo -s 720x576 -r 25 -frames:v 1 -an"},
	{"mpeg2.mxf", "-c:v mpeg2video -r 25 -frames:v 8 -c:a pcm_s16le -ar 48000 -frames:a 8"},
}

// twins are seeds of whose container another one is examined as it is, too.
var twins = []string{"faststart.mp4", "fragmented.mp4", "prores.mov", "h264.mkv", "vp8.webm", "huffyuv.avi", "h264.ts"}

// maxSeed is how large a seed may be: small videos are damaged where it hurts.
const maxSeed = 256 << 10

// seed is a video to be damaged.
type seed struct {
	name  string
	film  []byte
	sound bool // it is to be heard
}

// makeSeeds returns the videos. A codec that this ffmpeg lacks is left out.
func makeSeeds(t *testing.T) []seed {
	t.Helper()
	seeds, err := filmedOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(seeds) < len(recipes)/2 {
		t.Fatalf("only %d of %d videos could be made", len(seeds), len(recipes))
	}
	for _, s := range seeds {
		if len(s.film) > maxSeed {
			t.Errorf("%s has %d kB", s.name, len(s.film)>>10)
		}
	}
	return seeds
}

var filmedOnce = sync.OnceValues(func() ([]seed, error) {
	dir, err := os.MkdirTemp("", "spool-seeds-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if record(dir, recipes...) != nil { // all at once; one by one leaves out those that this ffmpeg cannot make
		for _, r := range recipes {
			_ = record(dir, r) // makeSeeds counts
		}
	}
	var seeds []seed
	for _, r := range recipes {
		film, err := os.ReadFile(filepath.Join(dir, r.file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, seed{r.file, film, !strings.Contains(r.codecs, "-an")})
	}
	return seeds, nil
})

// record makes videos with one ffmpeg, which takes longer to start than to make one. Those it does not end are not there.
func record(dir string, recipes ...recipe) error {
	args := strings.Fields("-v error -nostdin -y -f lavfi -i testsrc2=size=160x120:rate=10:duration=1 -f lavfi -i sine=duration=1")
	for _, r := range recipes {
		args = slices.Concat(args, strings.Fields("-threads 1 -pix_fmt yuv420p -fflags +bitexact -flags +bitexact "+r.codecs), []string{filepath.Join(dir, r.file)})
	}
	_, err := tool("ffmpeg", args...)
	if err != nil {
		for _, r := range recipes {
			_ = os.Remove(filepath.Join(dir, r.file)) // some were never begun
		}
	}
	return err
}

// foundSeeds returns the small videos of the collection of real ones, where it is
// there.
func foundSeeds(t *testing.T) []seed {
	t.Helper()
	dir, ok := footage.Lookup("variety")
	if !ok {
		t.Logf("no real footage is damaged (set %s to its folder)", footage.Variable)
		return nil
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var seeds []seed
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxSeed || filepath.Ext(f.Name()) == ".tsv" {
			continue
		}
		film, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed{name: f.Name(), film: film})
	}
	return seeds
}
