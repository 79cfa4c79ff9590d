package probe

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/footage"
)

// oggPage builds a page that begins a stream.
func oggPage(payload string) string {
	return "OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01" + string(rune(len(payload))) + payload
}

// packetsOf builds n transport packets with a prefix before each sync byte.
func packetsOf(n int, prefix string) string {
	return strings.Repeat(prefix+"\x47"+strings.Repeat("\x10", 187), n)
}

// dvBlocks builds blocks of a DV stream, each of which begins with one of the bytes of first.
func dvBlocks(header, first string) string {
	var b strings.Builder
	for _, c := range []byte(first) {
		b.WriteString(string([]byte{c}) + strings.Repeat("\xff", 79))
	}
	return header + b.String()[len(header):]
}

var sniffCases = []struct{ name, head, want string }{
	{"MP4", "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2", "mp4"},
	{"phone 3GP", "\x00\x00\x00\x18ftyp3gp4\x00\x00\x00\x00", "mp4"},
	{"QuickTime", "\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00", "mov"},
	{"QuickTime without a type box", "\x00\x00\x00\x08wide\x00\x10\x00\x00mdat", "mov"},
	{"QuickTime that begins with its data", "\x12\x34\x56\x78mdat\x00\x00", "mov"},
	{"QuickTime with a 64-bit box", "\x00\x00\x00\x01mdat\x00\x00\x00\x00\x00\x00\x00\x40", "mov"},
	{"MP4 behind a private box", "\x00\x00\x00\x20uuid" + strings.Repeat("\x07", 24) + "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00", "mp4"},
	{"MP4 behind several boxes", "\x00\x00\x00\x0cfree\x00\x00\x00\x00\x00\x00\x00\x08wide\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00", "mov"},
	{"QuickTime with a preview", "\x00\x00\x00\x14pnot\x00\x00\x00\x00\x00\x00PICT\x00\x01\x00\x00\x20\x00PICT\x00\x00\x00\x00", "mov"},
	{"something behind a large private box", "\x00\x01\x00\x00uuid" + strings.Repeat("\x07", 9000), "mov"},
	{"text behind a private box", "\x00\x00\x00\x10uuid\x07\x07\x07\x07\x07\x07\x07\x07and then a text", ""},
	{"a photo behind an empty box", "\x00\x00\x00\x08free\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1", ""},
	{"text about a uuid", "see uuid 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", ""},
	{"HEIC photo", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1", ""},
	{"AVIF frame", "\x00\x00\x00\x18ftypavif\x00\x00\x00\x00mif1", ""},
	{"M4A audio", "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00", ""},
	{"M4B audio book", "\x00\x00\x00\x18ftypM4B \x00\x00\x00\x00", ""},
	{"text that looks like a box", "the free world is a large place to be in", ""},
	{"WebM", "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "webm"},
	{"Matroska", "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x88matroska", "matroska"},
	{"EBML of another kind", "\x1a\x45\xdf\xa3\x9f\x42\x82\x84docs", ""},
	{"AVI", "RIFF\x00\x10\x00\x00AVI LIST", "avi"},
	{"WAV", "RIFF\x00\x10\x00\x00WAVEfmt ", ""},
	{"WebP", "RIFF\x00\x10\x00\x00WEBPVP8 ", ""},
	{"MPEG program stream", "\x00\x00\x01\xba\x44\x00", "mpeg"},
	{"MPEG elementary stream", "\x00\x00\x01\xb3\x14\x00", "mpegvideo"},
	{"raw H.264", "\x00\x00\x00\x01\x67\x64\x00\x1e", "h264"},
	{"raw H.264 with a short start code", "\x00\x00\x01\x67\x64\x00\x1e", "h264"},
	{"raw H.264 out of a broadcast", "\x00\x00\x00\x01\x09\xf0\x00\x00\x00\x01\x27\x64\x00\x1e", "h264"},
	{"raw HEVC", "\x00\x00\x00\x01\x40\x01\x0c\x01\xff\xff\x01\x60", "hevc"},
	{"raw HEVC with a short start code", "\x00\x00\x01\x40\x01\x0c\x01\xff\xff\x01\x60", "hevc"},
	{"raw HEVC out of a broadcast", "\x00\x00\x00\x01\x46\x01\x10\x00\x00\x00\x01\x40\x01\x0c\x01\xff\xff\x01\x60", "hevc"},
	{"something else behind a start code", "\x00\x00\x00\x01\x40\x01\x0c\x01\x60\x00\x01\x60", ""},
	{"PAL DV", dvBlocks("\x1f\x07\x00\xbf", "\x1f\x3f\x3f\x56\x56\x56\x76\x96"), "dv"},
	{"NTSC DV", dvBlocks("\x1f\x07\x00\x3f", "\x1f\x3f\x3f\x56\x56\x56\x76\x96"), "dv"},
	{"DV whose blocks are in another order", dvBlocks("\x1f\x07\x00\x3f", "\x1f\x3f\x56\x3f\x56\x56\x76\x96"), ""},
	{"the header of DV and nothing else", "\x1f\x07\x00\x3f" + strings.Repeat("\xff", 400), ""},
	{"a delimiter and nothing else", "\x00\x00\x00\x01\x09\xf0", ""},
	{"Flash video", "FLV\x01\x05\x00\x00\x00\x09", "flv"},
	{"Windows Media", "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c\x00", "asf"},
	{"MXF", "\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02\x01\x01\x02", "mxf"},
	{"Theora", oggPage("\x80theora\x03\x02\x01"), "ogg"},
	{"Theora after a skeleton and audio", oggPage("fishead\x00") + oggPage("\x01vorbis") + oggPage("\x80theora"), "ogg"},
	{"Vorbis audio", oggPage("\x01vorbis\x00\x00"), ""},
	{"Opus audio", oggPage("OpusHead\x01\x02"), ""},
	{"a skeleton with audio only", oggPage("fishead\x00") + oggPage("\x7fFLAC\x01"), ""},
	{"transport stream", packetsOf(6, ""), "mpegts"},
	{"transport stream of a camcorder", packetsOf(6, "\x00\x01\x02\x03"), "mpegts"},
	{"transport stream of two packets", packetsOf(2, ""), "mpegts"},
	{"transport stream cut off in its second packet", packetsOf(2, "")[:300], ""},
	{"transport stream with checksums", strings.Repeat(packetsOf(1, "")+strings.Repeat("\x01", 16), 40), "mpegts"},
	{"a picture of the colour of the sync byte", "BM" + strings.Repeat("\x00", 60) + strings.Repeat("G", 8000), ""},
	{"transport stream that begins in the middle of a packet", packetsOf(44, "")[100:], "mpegts"},
	{"transport stream of a camcorder, likewise", packetsOf(43, "\x00\x01\x02\x03")[1:], "mpegts"},
	{"a few packets after something else", "x" + packetsOf(10, ""), ""},
	{"text whose lines are in step", strings.Repeat("Good morning, G. ", 600), ""},
	{"text that begins with G", "G" + strings.Repeat("o", 2000), ""},
	{"HLS playlist", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n", ""},
	{"concat script", "ffconcat version 1.0\nfile a.mp4\n", ""},
	{"HTML", "<!DOCTYPE html><html>", ""},
	{"JPEG", "\xff\xd8\xff\xe0\x00\x10JFIF", ""},
	{"PNG", "\x89PNG\r\n\x1a\n", ""},
	{"GIF", "GIF89a\x01\x00", ""},
	{"MP3", "ID3\x04\x00\x00", ""},
	{"FLAC", "fLaC\x00\x00\x00\x22", ""},
	{"ZIP", "PK\x03\x04\x14\x00", ""},
	{"nothing", "", ""},
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for _, tt := range sniffCases {
		if got := Sniff([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: Sniff = %q; want %q", tt.name, got, tt.want)
		}
	}
}

// TestSniffRealFootage makes sure that no real video is turned away.
func TestSniffRealFootage(t *testing.T) {
	t.Parallel()
	dir := footage.Path(t, "variety")
	films, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, film := range films {
		f, err := os.Open(filepath.Join(dir, film.Name()))
		if err != nil {
			t.Fatal(err)
		}
		head, err := io.ReadAll(io.LimitReader(f, SniffSize))
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		wanted := len(head) > 0 && filepath.Ext(film.Name()) != ".tsv"
		if got := Sniff(head); (got != "") != wanted {
			t.Errorf("%s: Sniff = %q; want a container: %v", film.Name(), got, wanted)
		}
	}
}

// FuzzSniff makes sure that no bytes make it panic, that it reads no further
// than it says, and that it speaks only words it knows.
func FuzzSniff(f *testing.F) {
	known := []string{""}
	for _, c := range sniffCases {
		f.Add([]byte(c.head))
		known = append(known, c.want)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		got := Sniff(head)
		if !slices.Contains(known, got) {
			t.Errorf("Sniff = %q", got)
		}
		if longer := append(bytes.Clone(head), "tail"...); len(head) >= SniffSize && Sniff(longer) != got {
			t.Error("Sniff looks beyond SniffSize")
		}
	})
}

// mp3Frames builds frames of 417 bytes: 128 kbit/s at 44.1 kHz.
func mp3Frames(n int) string {
	return strings.Repeat("\xff\xfb\x90\x00"+strings.Repeat("\x00", 413), n)
}

func TestSniffSound(t *testing.T) {
	t.Parallel()
	adts := strings.Repeat("\xff\xf1\x50\x80\x03\xff\xfc"+strings.Repeat("\x00", 24), 5) // 31 bytes each
	for _, tt := range []struct{ name, head, want string }{
		{"MP3 behind a tag", "ID3\x04\x00\x00\x00\x0f\x7f\x76TIT2", "mp3"},
		{"MP3 without one", mp3Frames(4), "mp3"},
		{"one whole frame", mp3Frames(1), "mp3"},
		{"AAC", adts, "aac"},
		{"AC-3", strings.Repeat("\x0b\x77\x00\x00\x1c\x40\x00"+strings.Repeat("\x01", 761), 4), "ac3"},
		{"FLAC", "fLaC\x00\x00\x00\x22", "flac"},
		{"WAV", "RIFF\x00\x10\x00\x00WAVEfmt ", "wav"},
		{"a large WAV", "RF64\xff\xff\xff\xffWAVEds64", "wav"},
		{"AIFF", "FORM\x00\x00\x10\x00AIFFCOMM", "aiff"},
		{"Opus", oggPage("OpusHead\x01\x02"), "ogg"},
		{"M4A", "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00", "mp4"},
		{"AMR", "#!AMR\n\x3c", "amr"},
		{"text about a tag", "ID3 tags are read by most players.", ""},
		{"one false frame", "\xff\xfb\x90\x00" + strings.Repeat("x", 4000), ""},
		{"a picture in RIFF", "RIFF\x00\x10\x00\x00WEBPVP8 ", ""},
		{"a photo", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1", ""},
		{"a page", "<!DOCTYPE html>", ""},
		{"nothing", "", ""},
	} {
		if got := SniffSound([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
		refused := Admit([]byte(tt.head), true) != nil
		if refused != (tt.want == "") {
			t.Errorf("%s: refused %t where sound is accepted", tt.name, refused)
		}
	}
}
