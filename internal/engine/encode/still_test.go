package encode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/cover"
	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// soundFiles has one ffmpeg make the sound of 31 seconds in all formats.
func soundFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-f", "lavfi", "-i", "aevalsrc='0.4*sin(880*t)*lt(mod(t,5),1)':s=44100:d=31"}
	all := map[string]string{}
	for name, codec := range map[string]string{
		"a.mp3": "libmp3lame", "a.m4a": "aac", "a.aac": "aac", "a.flac": "flac", "a.ogg": "libvorbis", "a.opus": "libopus", "a.wav": "pcm_s16le",
		"a.aiff": "pcm_s16be", "a.mka": "flac", "a.wma": "wmav2", "a.ac3": "ac3", "a.mp4": "aac", "a.ts": "aac", "a.avi": "mp3", "a.caf": "pcm_s16le", "a.w64": "pcm_s16le",
	} {
		all[name] = filepath.Join(dir, name)
		args = append(args, "-c:a", codec, all[name])
	}
	enginetest.RunFFmpeg(t, args...)
	return all
}

// withCover returns the file of an MP3 with a picture in front of it.
func withCover(t *testing.T, mp3 string, picture []byte) string {
	t.Helper()
	sound, err := os.ReadFile(mp3)
	if err != nil {
		t.Fatal(err)
	}
	kind := "image/png"
	if bytes.HasPrefix(picture, []byte("\xff\xd8")) {
		kind = "image/jpeg"
	}
	frame := append([]byte("\x00"+kind+"\x00\x03\x00"), picture...)
	tag := append([]byte("APIC"), binary.BigEndian.AppendUint32(nil, uint32(len(frame)))...)
	tag = append(append(tag, 0, 0), frame...)
	n := len(tag)
	file := append([]byte("ID3\x03\x00\x00"), byte(n>>21&127), byte(n>>14&127), byte(n>>7&127), byte(n&127))
	path := filepath.Join(t.TempDir(), "covered.mp3")
	if err := os.WriteFile(path, append(append(file, tag...), sound...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func plainPicture(width, height int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		m.Set(i%width, i/width, color.RGBA{200, 40, 90, 255})
	}
	return m
}

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// claiming returns a PNG that says it has another size.
func claiming(file []byte, width, height uint32) []byte {
	const header = 16 // the signature, and the length and name of the first chunk
	file = bytes.Clone(file)
	binary.BigEndian.PutUint32(file[header:], width)
	binary.BigEndian.PutUint32(file[header+4:], height)
	binary.BigEndian.PutUint32(file[header+13:], crc32.ChecksumIEEE(file[header-4:header+13]))
	return file
}

// inspectSound inspects a file with sound alone, and returns its plan, and jobs on its sound and on its picture.
func inspectSound(t *testing.T, tools *engine, source string, ask plan.Request) (p *video.Plan, sound, picture ffmpeg.Job) {
	t.Helper()
	sound = enginetest.NewJob(t, source)
	ask.AcceptAudio = true
	p, err := tools.Inspect(t.Context(), sound, ask)
	if err != nil {
		t.Fatal(err)
	}
	return p, sound, enginetest.NewJob(t, cover.Path(sound))
}

// TestSoundFilesBecomeVideos encodes files of all formats in several chunks: they are as long as their sound, and every
// frame and keyframe is at its place.
func TestSoundFilesBecomeVideos(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	for name, source := range soundFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaveToLong(t, name, "a.aac", "a.aiff", "a.mka", "a.wma", "a.ac3", "a.caf", "a.w64", "a.ogg", "a.mp4")
			p, job, picture := inspectSound(t, tools, source, plan.Request{Names: []video.Name{"144p", "1080p"}, Thumbnails: []float64{3, 99}})
			if p.Input.Still != video.Waveform || p.Renditions[0].Width != 1280 || p.Renditions[0].Height != 720 || len(p.Chunks) < 3 {
				t.Fatalf("%s of %+v in %d chunks; want a waveform of 1280 × 720 in several", p.Input.Still, p.Renditions, len(p.Chunks))
			}
			if d := p.Duration.Seconds(); d < 30.95 || d > 31.1 {
				t.Errorf("it lasts %.3f s; want 31", d)
			}
			p.Renditions = p.Renditions[1:] // the small one
			made := encodeAll(t, tools, picture, p)
			var times, keys []float64
			for n := range int(math.Ceil(p.Duration.Seconds()*video.StillRate - 0.01)) {
				times = append(times, float64(n)/video.StillRate)
				if n%10 == 0 {
					keys = append(keys, times[n])
				}
			}
			sameTimes(t, made.times, times)
			sameTimes(t, made.keys, keys)
			out, err := tools.EncodeAudio(t.Context(), job, p, 0, nil)
			if seconds := float64(out.Frames) * 1024 / 48000; err != nil || seconds < 30.95 || seconds > 31.15 {
				t.Errorf("the sound lasts %.3f s, %v; want 31", seconds, err)
			}
			shots, err := tools.Thumbnails(t.Context(), picture, p, nil)
			if err != nil || len(shots) != 2 {
				t.Errorf("%d thumbnails, %v; want 2", len(shots), err)
			}
			if path, _, err := tools.Poster(t.Context(), picture, p, nil); err != nil || path == "" {
				t.Errorf("poster %q, %v", path, err)
			}
		})
	}
}

// TestCovers has covers of several sorts, of which hostile and useless ones are not shown.
func TestCovers(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	mp3 := soundFiles(t)["a.mp3"]
	whole := pngOf(t, plainPicture(301, 500))
	tests := []struct {
		name          string
		picture       []byte
		kind          video.Still
		width, height int
	}{
		{"a JPEG", jpegOf(t, plainPicture(400, 300)), video.Cover, 400, 300},
		{"a PNG of an odd size", whole, video.Cover, 300, 500},
		{"an icon", pngOf(t, plainPicture(32, 32)), video.Waveform, 1280, 720},
		{"a PNG that claims to be enormous", claiming(whole, 60_000, 60_000), video.Waveform, 1280, 720},
		{"a PNG that claims to be larger than it is", claiming(whole, 6000, 6000), video.Waveform, 1280, 720},
		{"half a JPEG", []byte("\xff\xd8\xff\xe0 and no more"), video.Waveform, 1280, 720},
		{"something else", []byte("<svg/>"), video.Waveform, 1280, 720},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, _, picture := inspectSound(t, tools, withCover(t, mp3, tt.picture), plan.Request{Names: []video.Name{"720p"}})
			if r := p.Renditions[0]; p.Input.Still != tt.kind || r.Width != tt.width || r.Height != tt.height {
				t.Fatalf("%s of %d × %d; want %s of %d × %d", p.Input.Still, r.Width, r.Height, tt.kind, tt.width, tt.height)
			}
			path, _, err := tools.Poster(t.Context(), picture, p, nil)
			if err != nil || path == "" {
				t.Fatalf("poster %q, %v", path, err)
			}
			if tt.kind == video.Cover {
				checkColour(t, path, color.RGBA{200, 40, 90, 255})
			}
		})
	}
}

// checkColour makes sure that the middle of a JPEG has about a colour.
func checkColour(t *testing.T, path string, want color.RGBA) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := jpeg.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	got := color.RGBAModel.Convert(m.At(m.Bounds().Dx()/2, m.Bounds().Dy()/2)).(color.RGBA)
	for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B)} {
		if d < -6 || d > 6 {
			t.Errorf("the poster is %v; want %v", got, want)
		}
	}
}

// TestAPartOfSound makes a part that begins between two frames.
func TestAPartOfSound(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	p, job, picture := inspectSound(t, tools, soundFiles(t)["a.flac"], plan.Request{Names: []video.Name{"144p"}, Trim: &video.Trim{Start: 4.73, End: 10.91}})
	if d := p.Duration.Seconds(); math.Abs(d-6.18) > 0.001 {
		t.Errorf("it lasts %.4f s; want 6.18", d)
	}
	made := encodeAll(t, tools, picture, p)
	if len(made.times) != 31 || made.times[0] != 0 {
		t.Errorf("%d frames from %.3f on; want 31 from 0", len(made.times), made.times[0])
	}
	out, err := tools.EncodeAudio(t.Context(), job, p, 0, nil)
	if seconds := float64(out.Frames) * 1024 / 48000; err != nil || math.Abs(seconds-6.2) > 0.04 {
		t.Errorf("the sound lasts %.3f s, %v; want 6.18", seconds, err)
	}
	begins := firstSound(t, out.Path) // the tone begins at second 5
	if math.Abs(begins-0.27) > 0.01 {
		t.Errorf("the tone begins at %.3f; want 0.27", begins)
	}
}

// firstSound returns when a file is heard first.
func firstSound(t *testing.T, path string) float64 {
	t.Helper()
	pcm := filepath.Join(t.TempDir(), "a.raw")
	enginetest.RunFFmpeg(t, "-i", path, "-ac", "1", "-ar", "48000", "-f", "s16le", pcm)
	b, err := os.ReadFile(pcm)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(b); i += 2 {
		if s := int16(binary.LittleEndian.Uint16(b[i:])); s > 2000 || s < -2000 {
			return float64(i/2) / 48000
		}
	}
	return -1
}

// TestSoundThatIsNotAccepted has files that fail, with and without the wish to accept sound.
func TestSoundThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	files := soundFiles(t)
	noise := filepath.Join(t.TempDir(), "noise.mp3")
	if err := os.WriteFile(noise, append([]byte("ID3\x03\x00\x00\x00\x00\x00\x00"), bytes.Repeat([]byte{0x12, 0x57}, 5000)...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		accept     bool
		want       video.FailureCode
	}{
		{"an MP3 without the wish", files["a.mp3"], false, video.NoVideoStream},
		{"an MP4 without the wish", files["a.mp4"], false, video.NoVideoStream},
		{"noise", noise, true, video.Corrupt},
	} {
		_, err := tools.Inspect(t.Context(), enginetest.NewJob(t, tt.file), plan.Request{Names: []video.Name{"144p"}, AcceptAudio: tt.accept})
		if f, ok := errors.AsType[*video.Failure](err); !ok || f.Code != tt.want {
			t.Errorf("%s: %v; want %s", tt.name, err, tt.want)
		}
	}
	p, err := tools.Inspect(t.Context(), enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=160x120:r=25:d=1")), plan.Request{Names: []video.Name{"144p"}, AcceptAudio: true})
	if err != nil || p.IsStill() {
		t.Errorf("a film is a still (%v), %v", p, err)
	}
}
