package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recipes are the kinds of films that are damaged: each container with codecs
// that are usual in it. The name of the file chooses the container.
var recipes = []struct{ file, codecs string }{
	{"h264.mp4", "-c:v libx264 -bf 2 -c:a aac"},
	{"faststart.mp4", "-c:v libx264 -c:a aac -movflags +faststart"},
	{"fragmented.mp4", "-c:v libx264 -g 5 -c:a aac -movflags +frag_keyframe+empty_moov"},
	{"hevc.mp4", "-c:v libx265 -x265-params log-level=none -c:a aac"},
	{"av1.mp4", "-c:v libaom-av1 -cpu-used 8 -usage realtime -an"},
	{"pcm.mov", "-c:v mjpeg -pix_fmt yuvj420p -q:v 20 -c:a pcm_s16be -ar 8000"},
	{"prores.mov", "-c:v prores_ks -profile:v 0 -qscale:v 31 -frames:v 3 -c:a aac"},
	{"h264.mkv", "-c:v libx264 -c:a libvorbis"},
	{"ffv1.mkv", "-c:v ffv1 -frames:v 4 -c:a flac -ar 8000"},
	{"vp8.webm", "-c:v libvpx -c:a libopus"},
	{"vp9.webm", "-c:v libvpx-vp9 -c:a libopus"},
	{"mpeg4.avi", "-c:v mpeg4 -c:a libmp3lame"},
	{"huffyuv.avi", "-c:v huffyuv -frames:v 3 -c:a pcm_u8 -ar 8000"},
	{"h264.ts", "-c:v libx264 -c:a aac"},
	{"mpeg2.ts", "-c:v mpeg2video -flags +ilme+ildct -c:a mp2"},
	{"mpeg1.mpg", "-c:v mpeg1video -c:a mp2 -r 25"},
	{"flv1.flv", "-c:v flv -c:a libmp3lame -ar 22050"},
	{"wmv2.wmv", "-c:v wmv2 -c:a wmav2"},
	{"theora.ogv", "-c:v libtheora -c:a libvorbis"},
	{"h263.3gp", "-c:v h263 -s 176x144 -c:a aac"},
	{"raw.h264", "-c:v libx264 -an"},
	{"mpeg2.mxf", "-c:v mpeg2video -r 25 -frames:v 8 -c:a pcm_s16le -ar 48000 -frames:a 8"},
}

// maxSeed is how large a seed may be: small films are damaged where it hurts.
const maxSeed = 200 << 10

// makeSeeds makes the films. A codec that this ffmpeg lacks is left out.
func makeSeeds(t *testing.T) []seed {
	t.Helper()
	dir := t.TempDir()
	var seeds []seed
	for _, r := range recipes {
		path := filepath.Join(dir, r.file)
		_, err := tool("ffmpeg", slices.Concat(strings.Fields("-v error -nostdin -y -f lavfi -i testsrc2=size=160x120:rate=10:duration=1"+
			" -f lavfi -i sine=duration=1 -threads 1 -pix_fmt yuv420p -fflags +bitexact -flags +bitexact"), strings.Fields(r.codecs), []string{path})...)
		if err != nil {
			t.Logf("no film %s: %v", r.file, err)
			continue
		}
		film, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(film) > maxSeed {
			t.Errorf("%s has %d kB", r.file, len(film)>>10)
		}
		seeds = append(seeds, seed{r.file, film})
	}
	if len(seeds) < len(recipes)/2 {
		t.Fatalf("only %d of %d films could be made", len(seeds), len(recipes))
	}
	return seeds
}
