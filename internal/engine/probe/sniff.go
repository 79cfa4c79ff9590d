package probe

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
)

// SniffSize is how many bytes Sniff needs.
const SniffSize = 8 << 10

// Sniff reports which video container the first bytes of a file announce, or ""
// when they announce none. It looks at content only: names and types that
// clients send prove nothing. Images, audio, text and playlists are rejected,
// even where their container is related to a video container.
func Sniff(head []byte) string {
	head = head[:min(len(head), SniffSize)]
	for _, try := range []func([]byte) string{sniffMagic, sniffISO, sniffMatroska, sniffOgg, sniffTransport} {
		if name := try(head); name != "" {
			return name
		}
	}
	return ""
}

// magics are containers with a fixed string at the beginning.
var magics = []struct{ name, start string }{
	{"mpeg", "\x00\x00\x01\xba"},
	{"mpegvideo", "\x00\x00\x01\xb3"},
	{"flv", "FLV\x01"},
	{"asf", asfMagic},
	{"mxf", "\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02"},
}

func sniffMagic(head []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.start)) {
			return m.name
		}
	}
	switch {
	case rawH264(head):
		return "h264"
	case rawHEVC(head):
		return "hevc"
	case rawDV(head):
		return "dv"
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "AVI " {
		return "avi"
	}
	return ""
}

// rawH264 recognises a stream without a container: a start code of three or four
// bytes and parameters. What was taken out of a broadcast has a delimiter before
// them (type 9, and one byte that ends in a stop bit).
func rawH264(head []byte) bool {
	unit, isUnit := nextUnit(head)
	if isUnit && len(unit) >= 2 && unit[0] == 0x09 && unit[1]&0x1f == 0x10 {
		unit, isUnit = nextUnit(unit[2:])
	}
	return isUnit && len(unit) > 0 && (unit[0] == 0x67 || unit[0] == 0x27)
}

// rawHEVC recognises such a stream of H.265: a set of video parameters, whose fifth and sixth bytes are reserved. A
// delimiter is of type 35.
func rawHEVC(head []byte) bool {
	unit, isUnit := nextUnit(head)
	if isUnit && len(unit) >= 3 && unit[0] == 0x46 && unit[1] == 0x01 && unit[2]&0x1f == 0x10 {
		unit, isUnit = nextUnit(unit[3:])
	}
	return isUnit && len(unit) >= 6 && string(unit[:2]) == "\x40\x01" && string(unit[4:6]) == "\xff\xff"
}

// rawDV recognises the stream of a DV camera. It consists of blocks of 80 bytes. It begins with a header block, two
// of subcode, three about the video, one of audio and one of video. Three bits of a block say what it holds.
func rawDV(head []byte) bool {
	const block = 80
	sections := []byte{0, 1, 1, 2, 2, 2, 3, 4}
	if len(head) < block*len(sections) || string(head[:3]) != "\x1f\x07\x00" || head[3]&0x7f != 0x3f {
		return false
	}
	for i, section := range sections {
		if head[i*block]>>5 != section {
			return false
		}
	}
	return true
}

// nextUnit returns what follows a start code.
func nextUnit(b []byte) ([]byte, bool) {
	if rest, ok := bytes.CutPrefix(b, []byte{0, 0, 1}); ok {
		return rest, true
	}
	return bytes.CutPrefix(b, []byte{0, 0, 0, 1})
}

// Brands of the ISO base media family that hold no video.
var (
	imageBrands = []string{"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "avif", "avis", "crx "}
	audioBrands = []string{"M4A ", "M4B ", "M4P ", "F4A ", "F4B "}
)

// sniffISO recognises MP4, QuickTime and related formats by their first box, or by the
// first one behind boxes that say nothing.
func sniffISO(head []byte) string {
	if len(head) < 8 {
		return ""
	}
	size := binary.BigEndian.Uint32(head)
	switch kind := string(head[4:8]); kind {
	case "ftyp":
		if size < 16 || len(head) < 12 {
			return ""
		}
		return sniffBrand(string(head[8:12]))
	case "mdat", "moov":
		// Old QuickTime files have no ftyp. Only these two boxes can be large.
		if size > 1 && size < 8 {
			return ""
		}
		return "mov"
	case "free", "skip", "wide", "pnot", "styp", "moof", "uuid":
		// A size whose first byte is a letter is text: "the free world …".
		if size < 8 || size >= 1<<24 {
			return ""
		}
		// QuickTime has more boxes than are known here, so that what follows most of these proves nothing.
		// A uuid is no proof of QuickTime, and a brand tells what the file is.
		if behind := head[min(int(size), len(head)):]; len(behind) >= 12 && (kind == "uuid" || string(behind[4:8]) == "ftyp") {
			return sniffISO(behind)
		}
		return "mov"
	}
	return ""
}

func sniffBrand(brand string) string {
	switch {
	case slices.Contains(imageBrands, brand), slices.Contains(audioBrands, brand):
		return ""
	case brand == "qt  ":
		return "mov"
	}
	return "mp4"
}

// sniffMatroska requires the document type besides the EBML magic: EBML is used
// for other things, too.
func sniffMatroska(head []byte) string {
	if !bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")) {
		return ""
	}
	head = head[:min(len(head), 4<<10)]
	for _, name := range []string{"webm", "matroska"} {
		if bytes.Contains(head, []byte(name)) {
			return name
		}
	}
	return ""
}

// oggVideo are the first bytes of the header packets of video codecs in Ogg:
// Theora, Dirac, VP8 and whatever OGM wraps.
var oggVideo = []string{"\x80theora", "BBCD\x00", "OVP80", "\x01video"}

// sniffOgg walks over the pages at the beginning of an Ogg file, where every
// stream introduces itself. Most Ogg files are audio, so one stream has to be
// video.
func sniffOgg(head []byte) string {
	for {
		body, size, ok := readOggPage(head)
		if !ok {
			return ""
		}
		for _, magic := range oggVideo {
			if bytes.HasPrefix(body, []byte(magic)) {
				return "ogg"
			}
		}
		head = body[min(size, len(body)):]
	}
}

const (
	oggMagic  = "OggS"
	oggHeader = 27 // bytes before the table of segment lengths
)

// readOggPage returns what follows the header of an Ogg page, and how many bytes of it
// belong to the page.
func readOggPage(b []byte) (body []byte, size int, ok bool) {
	if len(b) < oggHeader || string(b[:4]) != oggMagic || len(b) < oggHeader+int(b[26]) {
		return nil, 0, false
	}
	table, body := b[oggHeader:oggHeader+int(b[26])], b[oggHeader+int(b[26]):]
	for _, n := range table {
		size += int(n)
	}
	return body, size, true
}

// sniffTransport recognises MPEG transport streams by the sync byte that begins
// each packet. Blu-ray and camcorders put a timestamp of four bytes before each
// packet, broadcasters a checksum of sixteen behind it. A recording that was cut
// somewhere begins in the middle of a packet: then all that follow have to be in step.
func sniffTransport(head []byte) string {
	if synced(head, 188, 0) || synced(head, 192, 4) {
		return "mpegts"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), "/")
	if kind == "text" || kind == "image" || kind == "audio" {
		return "" // its lines may be in step, too, and a plain colour always is
	}
	for _, packet := range []int{188, 192, 204} {
		for skip := 0; skip < packet && len(head)-skip >= cutPackets*packet; skip++ {
			if inStep(head[skip:], packet, len(head)/packet) {
				return "mpegts"
			}
		}
	}
	return ""
}

const (
	syncByte = 0x47
	// cutPackets is how many packets have to follow a broken one: more than chance explains.
	cutPackets = 30
)

// synced reports whether five packets in a row have the sync byte at an offset. A file
// of fewer packets has to consist of whole ones.
func synced(head []byte, packet, offset int) bool {
	const enough = 5
	n := len(head) / packet
	if n == 0 || n < enough && len(head)%packet != 0 {
		return false
	}
	return inStep(head[offset:], packet, enough)
}

// inStep reports whether all of the first n packets begin with the sync byte.
func inStep(head []byte, packet, n int) bool {
	for at := 0; at < len(head) && at < n*packet; at += packet {
		if head[at] != syncByte {
			return false
		}
	}
	return true
}
