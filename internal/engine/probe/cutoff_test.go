package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
)

const isoName = "mov,mp4,m4a,3gp,3g2,mj2"

// isoBox builds a box of an MP4 file that announces a body of so many bytes.
func isoBox(kind string, body int) string {
	return string([]byte{0, 0, byte((body + 8) >> 8), byte(body + 8)}) + kind + strings.Repeat("\x00", body)
}

// asfObject builds an object that announces a body of so many bytes.
func asfObject(kind string, body int) string {
	return kind + string([]byte{byte(body + 24), byte((body + 24) >> 8), 0, 0, 0, 0, 0, 0}) + strings.Repeat("\x00", body)
}

// asfHeader builds a header with the properties of the file.
func asfHeader(flags byte) string {
	header, properties := asfObject(asfMagic, 6+104), asfObject(asfProperties, 80)
	return header[:30] + properties[:88] + string([]byte{flags}) + properties[89:]
}

// TestEndsInside has files that are whole, and that lack their last bytes.
func TestEndsInside(t *testing.T) {
	t.Parallel()
	const ebml, endless = "\x1a\x45\xdf\xa3\x84\x42\x82\x81w", "\x01\xff\xff\xff\xff\xff\xff\xff"
	const segment, cluster, block = "\x18\x53\x80\x67", "\x1f\x43\xb6\x75", "\xa3\x8a0123456789"
	iso := isoBox("ftyp", 8) + isoBox("moov", 40)
	pages := strings.Repeat(oggPage(strings.Repeat("x", 100)), 3)
	tests := []struct {
		name, format, file string
		cut                int // how many bytes are missing
		want               bool
	}{
		{"fragmented MP4", isoName, iso + isoBox("moof", 20) + isoBox("mdat", 99), 0, false},
		{"fragmented MP4 without all of its data", isoName, iso + isoBox("moof", 20) + isoBox("mdat", 99), 9, true},
		{"fragmented MP4 without all of its index, but with all frames", isoName, iso + isoBox("moof", 20) + isoBox("mdat", 99) + isoBox("mfra", 20), 9, false},
		{"fragmented MP4 whose data go on to the end", isoName, iso + isoBox("moof", 20) + "\x00\x00\x00\x00mdat0123456789", 3, false},
		{"fragmented MP4 and the data of a camera", isoName, iso + isoBox("moof", 20) + isoBox("mdat", 99) + "8db42d694ccc418790edff439fe026bf", 0, false},
		{"MP4 whose data are shorter than announced, but hold all frames", isoName, iso + isoBox("mdat", 99), 9, false},
		{"MP4 with an unknown part", isoName, iso + isoBox("mdat", 99) + isoBox("xxxx", 99), 9, false},
		{"Matroska", "matroska,webm", ebml + segment + "\x98" + cluster + "\x93" + block[:12] + "\xec\x85\x00\x00\x00\x00\x00", 0, false},
		{"Matroska without its end", "matroska,webm", ebml + segment + "\x98" + cluster + "\x93" + block[:12] + "\xec\x85\x00\x00\x00\x00\x00", 1, true},
		{"Matroska and something like a block", "matroska,webm", ebml + segment + "\x91" + cluster + "\x8c" + block + "\xa3\x4f\xffxxxx", 0, false},
		{"a live recording", "matroska,webm", ebml + segment + endless + cluster + "\x98" + block + block, 0, false},
		{"a live recording without all of a cluster", "matroska,webm", ebml + segment + endless + cluster + "\x98" + block + block, 3, true},
		{"a live recording in a browser", "matroska,webm", ebml + segment + endless + cluster + endless + block + cluster + endless + block, 0, false},
		{"a live recording in a browser, without all of a block", "matroska,webm", ebml + segment + endless + cluster + endless + block + block, 3, true},
		{"a live recording and something else", "matroska,webm", ebml + segment + endless + cluster + "\x8c" + block + strings.Repeat("\x00", 64), 0, false},
		{"Windows Media", "asf", asfHeader(2) + asfObject(asfData, 99), 0, false},
		{"Windows Media without all of its data", "asf", asfHeader(2) + asfObject(asfData, 99), 9, true},
		{"broadcast Windows Media", "asf", asfHeader(3) + asfObject(asfData, 99), 9, false},
		{"streamed Windows Media, whose data follow their object", "asf", asfHeader(2) + asfObject(asfData, 26) + strings.Repeat("\x82\x00\x00\x01", 99), 0, false},
		{"Ogg without a last page", "ogg", pages, 0, false},
		{"Ogg without all of a page", "ogg", pages, 9, true},
		{"Ogg without all of the header of a page", "ogg", pages, 110, true},
		{"Ogg and something else", "ogg", pages + strings.Repeat("\x00", 64), 0, false},
		{"long Ogg with something like a page in its data", "ogg", strings.Repeat(oggPage(strings.Repeat("x", 100)), 2000) + oggPage("OggS\x00"+strings.Repeat("\xff", 80)), 0, false},
		{"long Ogg, likewise, without all of a page", "ogg", strings.Repeat(oggPage(strings.Repeat("x", 100)), 2000) + oggPage("OggS\x00"+strings.Repeat("\xff", 80)), 9, true},
		{"a transport stream", "mpegts", packetsOf(6, ""), 9, false},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "file")
		file := tt.file[:len(tt.file)-tt.cut]
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		f := NewResult()
		f.Format.Name = tt.format
		if err := f.readEnd(t.Context(), path, int64(len(file))); err != nil || f.CutOff != tt.want {
			t.Errorf("%s: cut off: %v, %v; want %v", tt.name, f.CutOff, err, tt.want)
		}
	}
}

// TestListedPackets has MP4s whose media data are shorter than their box says.
func TestListedPackets(t *testing.T) {
	t.Parallel()
	file := isoBox("ftyp", 8) + isoBox("moov", 40) + isoBox("mdat", 99)
	file = file[:len(file)-9]
	tests := []struct {
		name      string
		codec     string // of the second stream, which has 50 packets
		listed    int
		frames    int64   // of the 50 that are listed, each of 40 ms
		announced float64 // seconds
		cut       bool
		early     bool
	}{
		{"all packets", "aac", 50, 50, 2, false, false},
		{"frames are missing", "pcm_s16le", 96000, 45, 2, true, false},
		{"an edit list that ends early", "pcm_s16le", 96000, 45, 1.8, false, false},
		{"PCM lists samples", "pcm_s16le", 96000, 50, 2.2, false, false},
		{"ADPCM likewise, with an absurd time scale", "adpcm_ima_qt", 1500, 50, 2000, false, false},
		{"audio is missing", "aac", 5000, 50, 200, true, true},
	}
	for _, tt := range tests {
		f := NewResult()
		f.Format = Format{Name: isoName, Duration: tt.announced}
		f.Streams = []Stream{
			{Index: 0, Type: "video", Codec: "h264", TimeBase: "1/25", Frames: 50},
			{Index: 1, Type: "audio", Codec: tt.codec, TimeBase: "1/25", Frames: tt.listed},
			{Index: 2, Type: "data", TimeBase: "1/25", Frames: 1},
		}
		f.Timelines[0], f.Timelines[1] = NewTimeline(), NewTimeline()
		for i := range int64(50) {
			if i < tt.frames {
				f.Timelines[0].Add(Packet{Type: "video", PTS: i, DTS: i, Duration: 1, Flags: "K_"})
			}
			at := i * tt.frames / 50
			f.Timelines[1].Add(Packet{Type: "audio", PTS: at, DTS: at, Duration: 1, Flags: "K_"})
		}
		cut, err := f.endsInside(strings.NewReader(file), int64(len(file)))
		if early := f.EndsEarly(); err != nil || cut != tt.cut || early != tt.early {
			t.Errorf("%s: cut off: %v, %v, ends early: %v; want %v, %v", tt.name, cut, err, early, tt.cut, tt.early)
		}
	}
}

// TestLittleIsMissing cuts less off than the durations of containers tell.
func TestLittleIsMissing(t *testing.T) {
	t.Parallel()
	p := New(enginetest.NewRunner(t), Config{})
	paths := enginetest.Clips(t, "testsrc2=s=64x48:r=25:d=2",
		enginetest.Output{Name: "faststart.mp4", Args: []string{"-movflags", "faststart"}},
		enginetest.Output{Name: "fragmented.mp4", Args: []string{"-g", "10", "-movflags", "frag_keyframe+empty_moov"}},
		enginetest.Output{Name: "live.mkv", Args: []string{"-f", "matroska", "-live", "1"}},
		enginetest.Output{Name: "a.wmv", Args: []string{"-c:v", "wmv2", "-c:a", "wmav2"}},
		enginetest.Output{Name: "a.ogv", Args: []string{"-c:v", "libtheora", "-c:a", "libvorbis"}},
		enginetest.Output{Name: "a.flv", Args: []string{"-c:v", "flv", "-an", "-g", "1", "-q:v", "1", "-flvflags", "no_duration_filesize"}},
	)
	for _, path := range paths {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, len(whole) / 6} {
			if err := os.Truncate(path, int64(len(whole)-cut)); err != nil {
				t.Fatal(err)
			}
			found, err := p.Probe(t.Context(), enginetest.NewJob(t, path))
			if err != nil || found.CutOff != (cut > 0) || found.Format.Name != "flv" && found.EndsEarly() {
				t.Errorf("%s without %d of %d bytes: Probe = %+v, %v; want it cut off: %v", filepath.Base(path), cut, len(whole), found, err, cut > 0)
			}
		}
	}
}
