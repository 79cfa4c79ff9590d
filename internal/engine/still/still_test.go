package still

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
)

func newJob(t *testing.T) ffmpeg.Job {
	t.Helper()
	dir := t.TempDir()
	job := ffmpeg.Job{Source: filepath.Join(dir, "in", "source"), OutDir: filepath.Join(dir, "out")}
	for _, d := range []string{filepath.Dir(job.Source), job.OutDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return job
}

func decodeJPEG(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := jpeg.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// isNear reports whether a pixel has about this colour.
func isNear(picture image.Image, x, y int, want color.RGBA) bool {
	r, g, b, _ := picture.At(x, y).RGBA()
	near := func(got uint32, want uint8) bool { d := int(got>>8) - int(want); return d > -30 && d < 30 }
	return near(r, want.R) && near(g, want.G) && near(b, want.B)
}

var (
	red   = color.RGBA{R: 255, A: 255}
	blue  = color.RGBA{B: 255, A: 255}
	black = color.RGBA{A: 255}
)

// halves is a picture that is red on the left and blue on the right, at the bottom transparent.
func halves(width, height int) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			c := color.NRGBA(red)
			if x >= width/2 {
				c = color.NRGBA(blue)
			}
			if y >= height*3/4 {
				c = color.NRGBA{G: 255}
			}
			p.SetNRGBA(x, y, c)
		}
	}
	return p
}

func encodePNG(t *testing.T, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fixHeader corrects the check sum of the header of a PNG.
func fixHeader(file []byte) []byte {
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	return file
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// turned returns a JPEG whose Exif says that it lies on its side (orientation 6).
func turned(jpeg []byte) []byte {
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	segment := append([]byte{0xff, 0xe1, 0, byte(2 + len(exif))}, exif...)
	return append(append(append([]byte{}, jpeg[:2]...), segment...), jpeg[2:]...)
}

func TestPicturesOfClientsBecomeJPEGs(t *testing.T) {
	t.Parallel()
	m := NewMaker(enginetest.NewRunner(t))
	dir := t.TempDir()
	source := filepath.Join(dir, "source.png")
	if err := os.WriteFile(source, encodePNG(t, halves(1600, 800)), 0o600); err != nil {
		t.Fatal(err)
	}
	made := enginetest.Outputs(t, []string{"-i", source},
		enginetest.Output{Name: "a.jpg", Args: []string{"-q:v", "2"}}, enginetest.Output{Name: "a.webp", Args: []string{"-c:v", "libwebp"}},
		enginetest.Output{Name: "lossless.webp", Args: []string{"-c:v", "libwebp", "-lossless", "1"}},
		enginetest.Output{Name: "a.avif", Args: []string{"-vf", "scale=400:200", "-pix_fmt", "yuv420p", "-c:v", "libaom-av1", "-cpu-used", "8", "-still-picture", "1"}})
	for _, tt := range []struct {
		name          string
		file          []byte
		width, height int
		lower         color.RGBA // of the transparent part
		turned        bool
	}{
		{"PNG", read(t, source), 1280, 640, black, false},
		{"JPEG", read(t, made[0]), 1280, 640, color.RGBA{G: 255, A: 255}, false},
		{"a JPEG on its side", turned(read(t, made[0])), 800, 1600, color.RGBA{G: 255, A: 255}, true},
		{"WebP", read(t, made[1]), 1280, 640, black, false},
		{"lossless WebP", read(t, made[2]), 1280, 640, black, false},
		{"AVIF", read(t, made[3]), 400, 200, color.RGBA{G: 255, A: 255}, false},
	} {
		c, err := m.Convert(t.Context(), newJob(t), tt.file)
		if err != nil {
			t.Errorf("%s: %v: %v", tt.name, err, errors.Unwrap(err))
			continue
		}
		p := decodeJPEG(t, c.Path)
		if size := p.Bounds().Size(); size != image.Pt(tt.width, tt.height) || c.Width != tt.width || c.Height != tt.height {
			t.Errorf("%s: the picture is %v, said to be %d × %d; want %d × %d", tt.name, size, c.Width, c.Height, tt.width, tt.height)
			continue
		}
		left, right := image.Pt(20, 20), image.Pt(tt.width-20, 20)
		if tt.turned { // clockwise: the left side is above
			left, right = image.Pt(tt.width-20, 20), image.Pt(tt.width-20, tt.height-20)
		}
		if !isNear(p, left.X, left.Y, red) || !isNear(p, right.X, right.Y, blue) {
			t.Errorf("%s: left is %v, right is %v", tt.name, p.At(left.X, left.Y), p.At(right.X, right.Y))
		}
		if !tt.turned && !isNear(p, 20, tt.height-20, tt.lower) {
			t.Errorf("%s: what was transparent is %v, want %v", tt.name, p.At(20, tt.height-20), tt.lower)
		}
	}
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	t.Parallel()
	m := NewMaker(enginetest.NewRunner(t))
	good := encodePNG(t, halves(64, 64))
	huge := bytes.Clone(good)
	copy(huge[16:], []byte{0, 0, 0x80, 0, 0, 0, 0x80, 0}) // 32768 × 32768
	huge = fixHeader(huge)
	for name, tt := range map[string]struct {
		file []byte
		says string
	}{
		"nothing":            {nil, "no JPEG, PNG, WebP or AVIF"},
		"text":               {[]byte("hello"), "no JPEG, PNG, WebP or AVIF"},
		"a video":            {[]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"), "no JPEG, PNG, WebP or AVIF"},
		"a playlist as JPEG": {[]byte("\xff\xd8\xff#EXTM3U\nfile:///etc/passwd\n"), "JPEG is damaged"},
		"a broken WebP":      {[]byte("RIFF\x10\x00\x00\x00WEBPVP8 \x00\x00\x00\x00"), "WebP is damaged"},
		"an empty AVIF":      {[]byte("\x00\x00\x00\x10ftypavif\x00\x00\x00\x00"), "AVIF is damaged"},
		"a huge PNG":         {huge, "megapixels"},
	} {
		_, err := m.Convert(t.Context(), newJob(t), tt.file)
		refused, ok := errors.AsType[*RefusedError](err)
		if !ok || !strings.Contains(refused.Reason, tt.says) {
			t.Errorf("%s: the error is %v: %v, want one that says %q", name, err, errors.Unwrap(err), tt.says)
		}
	}
}

func FuzzUnwrapAVIF(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x10ftypavif\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		isAVIF(file)
		out, _, err := unwrapAVIF(file)
		if err == nil && len(out) > 2*len(file)+100 {
			t.Errorf("of %d bytes become %d", len(file), len(out))
		}
	})
}

func TestAFrameBecomesAPicture(t *testing.T) {
	t.Parallel()
	m := NewMaker(enginetest.NewRunner(t))
	// One second is red, the next one blue.
	film := enginetest.Outputs(t, []string{"-f", "lavfi", "-i", "color=red:s=320x180:r=25:d=1[a];color=blue:s=320x180:r=25:d=1[b];[a][b]concat"},
		enginetest.Output{Name: "film.mp4", Args: []string{"-c:v", "libx264", "-preset", "ultrafast", "-bf", "3", "-movflags", "+faststart"}})[0]
	file, err := os.Open(film)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, _ := file.Stat()
	index, err := mp4.ReadIndex(mp4.Input{ReaderAt: file, Size: info.Size()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at            float64
		shot          Shot
		width, height int
		want          color.RGBA
	}{
		{0, Shot{Width: 320, Height: 180}, 320, 180, red},
		{0.99, Shot{Width: 160, Height: 90}, 160, 90, red},
		{1, Shot{Width: 161, Height: 91, CropWidth: 51, CropHeight: 91}, 51, 91, blue},
		{99, Shot{Width: 16, Height: 9}, 16, 9, blue},
	} {
		job := newJob(t)
		still, err := index.Video.Still(seconds(tt.at))
		if err != nil {
			t.Fatal(err)
		}
		var short []byte
		for _, p := range still.Parts {
			part := make([]byte, p.To-p.From)
			if _, err := file.ReadAt(part, p.From); err != nil {
				t.Fatal(err)
			}
			short = append(append(short, p.Bytes...), part...)
		}
		if err := os.WriteFile(job.Source, short, 0o600); err != nil {
			t.Fatal(err)
		}
		tt.shot.At = still.At
		path, err := m.Frame(t.Context(), job, 320*180, tt.shot)
		if err != nil {
			t.Errorf("at %v: %v", tt.at, err)
			continue
		}
		p := decodeJPEG(t, path)
		if p.Bounds().Size() != image.Pt(tt.width, tt.height) || !isNear(p, tt.width/2, tt.height/2, tt.want) {
			t.Errorf("at %v the picture is %v and %v, want %d × %d and %v", tt.at, p.Bounds().Size(), p.At(tt.width/2, tt.height/2), tt.width, tt.height, tt.want)
		}
	}
}

func TestPicturesOfClientsBecomeWatermarks(t *testing.T) {
	t.Parallel()
	m := NewMaker(enginetest.NewRunner(t))
	deep := image.NewNRGBA64(image.Rect(0, 0, 40, 20))
	for i := range 40 * 20 {
		deep.SetNRGBA64(i%40, i/40, color.NRGBA64{R: 0xffff, A: 0x8080})
	}
	good := encodePNG(t, deep)
	for name, tt := range map[string]struct {
		file  []byte
		wrong string
	}{
		"16 bits":       {good, ""},
		"a WebP":        {[]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"), ""},
		"a JPEG":        {[]byte("\xff\xd8\xff\xe0"), "The file is no PNG or WebP."},
		"nothing":       {nil, "The file is no PNG or WebP."},
		"a header":      {[]byte("\x89PNG\r\n\x1a\n"), "The PNG is damaged"},
		"too wide":      {encodePNG(t, image.NewGray(image.Rect(0, 0, MaxMarkSide+1, 1))), "The picture has 4097 × 1 pixels"},
		"too many":      {encodePNG(t, image.NewGray(image.Rect(0, 0, MaxMarkSide, MaxMarkSide+1))), "The picture has more than 16 megapixels."},
		"only a header": {fixHeader(append([]byte{}, good[:60]...)), "The PNG is damaged"},
	} {
		c, err := m.Mark(t.Context(), enginetest.NewJob(t, filepath.Join(t.TempDir(), "source")), tt.file)
		if refused, ok := errors.AsType[*RefusedError](err); tt.wrong != "" || err != nil {
			if !ok || tt.wrong == "" || !strings.HasPrefix(refused.Reason, tt.wrong) {
				t.Errorf("%s: %v; want %q", name, err, tt.wrong)
			}
			continue
		}
		p, err := png.Decode(bytes.NewReader(read(t, c.Path)))
		if _, plain := p.(*image.NRGBA); err != nil || !plain || p.Bounds().Dx() != c.Width || p.Bounds().Dy() != c.Height {
			t.Errorf("%s becomes a %T of %d × %d, %v; want 8 bits with alpha", name, p, c.Width, c.Height, err)
		} else if got := p.(*image.NRGBA).NRGBAAt(0, 0); name == "16 bits" && (got.R != 255 || got.G != 0 || got.A/2 != 64) {
			t.Errorf("%s: the colour is %v", name, got)
		}
	}
}
