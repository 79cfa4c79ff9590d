package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// SniffSound reports which container of sound alone the first bytes of a file announce, or "". Containers that may hold
// video, too, are found by Sniff.
func SniffSound(head []byte) string {
	head = head[:min(len(head), SniffSize)]
	for _, m := range soundMagics {
		if bytes.HasPrefix(head, []byte(m.start)) {
			return m.name
		}
	}
	for _, try := range []func([]byte) string{sniffSoundBrand, sniffForm, sniffTagged, sniffFrames} {
		if name := try(head); name != "" {
			return name
		}
	}
	if _, _, isOgg := readOggPage(head); isOgg {
		return "ogg"
	}
	return ""
}

// soundMagics are containers of sound with a fixed string at the beginning.
var soundMagics = []struct{ name, start string }{
	{"flac", "fLaC"},
	{"amr", "#!AMR"},
	{"caf", "caff\x00\x01"},
	{"w64", "riff\x2e\x91\xcf\x11"},
}

// sniffSoundBrand recognises an MP4 that says of itself that it holds sound.
func sniffSoundBrand(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" && slices.Contains(audioBrands, string(head[8:12])) {
		return "mp4"
	}
	return ""
}

// sniffForm recognises files of chunks, which say what kind of form they are.
func sniffForm(head []byte) string {
	if len(head) < 12 {
		return ""
	}
	switch form := string(head[8:12]); string(head[:4]) {
	case "RIFF", "RF64", "BW64":
		if form == "WAVE" {
			return "wav"
		}
	case "FORM":
		if form == "AIFF" || form == "AIFC" {
			return "aiff"
		}
	}
	return ""
}

// sniffTagged recognises an ID3 tag. Cover art makes it larger than what is looked at, so what follows is not seen: it
// is mostly MP3.
func sniffTagged(head []byte) string {
	const header = 10
	if len(head) < header || string(head[:3]) != "ID3" || head[3] < 2 || head[3] > 4 {
		return ""
	}
	for _, b := range head[6:header] { // its size, in seven bits of each byte
		if b >= 0x80 {
			return ""
		}
	}
	return "mp3"
}

// sniffFrames recognises streams without a container: of MP3, AAC and AC-3. A frame of each says how long it is, so the
// next one is looked at, too.
func sniffFrames(head []byte) string {
	for _, stream := range []struct {
		name string
		size func(frame []byte) int // 0: there is no frame
	}{{"mp3", mp3Frame}, {"aac", adtsFrame}, {"ac3", ac3Frame}} {
		const enough = 3
		rest, frames := head, 0
		for frames < enough && len(rest) >= frameHead {
			n := stream.size(rest)
			if n == 0 {
				break
			}
			frames++
			rest = rest[min(n, len(rest)):]
		}
		if frames == enough || frames > 0 && len(rest) < frameHead {
			return stream.name
		}
	}
	return ""
}

// frameHead is how many bytes of a frame are looked at.
const frameHead = 7

// mp3Frame returns the length of a frame of MPEG audio, layer 2 or 3.
func mp3Frame(b []byte) int {
	header := binary.BigEndian.Uint32(b)
	version, layer, rate, frequency := header>>19&3, header>>17&3, int(header>>12&15), int(header>>10&3)
	if header>>21 != 0x7ff || version == 1 || layer != 1 && layer != 2 || rate == 0 || rate == 15 || frequency == 3 {
		return 0
	}
	kbits := [][]int{
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}, // layer 3
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
	}[layer-1]
	samples, hertz := 1152, []int{44100, 48000, 32000}[frequency]
	if version != 3 { // MPEG 2 and 2.5
		kbits, hertz = []int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}, hertz/2
		if layer == 1 {
			samples = 576
		}
		if version == 0 {
			hertz /= 2
		}
	}
	return samples/8*kbits[rate]*1000/hertz + int(header>>9&1)
}

// adtsFrame returns the length of a frame of AAC.
func adtsFrame(b []byte) int {
	if b[0] != 0xff || b[1]&0xf6 != 0xf0 || b[2]>>2&15 > 12 {
		return 0
	}
	n := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5]>>5)
	if n <= frameHead {
		return 0
	}
	return n
}

// ac3Frame returns the length of a frame of AC-3.
func ac3Frame(b []byte) int {
	code := int(b[4] & 63)
	if b[0] != 0x0b || b[1] != 0x77 || b[4]>>6 == 3 || code >= 38 {
		return 0
	}
	kbits := []int{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640}[code/2]
	switch b[4] >> 6 {
	case 0: // 48 kHz
		return kbits * 4
	case 1: // 44.1 kHz: the odd codes have a word more
		return 2 * (kbits*96*1000/44100 + code%2)
	}
	return kbits * 6
}

// beginsAsSound reports whether a file begins as one that holds sound alone. Then the demuxers of such files may open it.
func beginsAsSound(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, SniffSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return Sniff(head[:n]) == "" && SniffSound(head[:n]) != "", nil
}

// Sound returns the sound track of a file that has no video, or nil if it has a video or no sound at all. If no track
// can be decoded, the error is a *video.Failure that says why.
func (f *Result) Sound() (*Stream, error) {
	if len(f.videoStreams()) > 0 {
		return nil, nil
	}
	if tracks := f.Audio(Stream{Index: stillIndex}); len(tracks) > 0 {
		return &tracks[0], nil
	}
	for _, s := range f.Streams {
		if s.Type != "audio" {
			continue
		}
		switch f.AudioFailure(s) {
		case video.Encrypted:
			return nil, video.Failf(video.Encrypted, "The sound is encrypted (DRM) and cannot be read.")
		case video.UnsupportedCodec:
			return nil, unsupported(CodecName(s))
		}
		return nil, video.Failf(video.Corrupt, "The file is damaged: its sound could not be decoded.")
	}
	return nil, nil
}

// minCover is the shorter side of the smallest picture that counts as a cover. Smaller ones are icons.
const minCover = 96

// Covers returns the pictures that the file brings and that look as if they could be decoded, in their order.
func (f *Result) Covers() []Stream {
	var all []Stream
	for _, s := range f.Streams {
		fits := min(s.Width, s.Height) >= minCover && s.Width <= ffmpeg.MaxPixels/s.Height
		if s.Type == "video" && s.Disposition["attached_pic"] != 0 && fits && s.PixelFormat != "" && !slices.Contains(f.refused, s.Codec) {
			all = append(all, s)
		}
	}
	return all
}

// stillIndex is the index of the stream that Show adds. No stream of a file has it.
const stillIndex = -1

// Show gives a file without video one: a picture of a size, whose frames are at the times of a line. It is read from
// another file than the sound.
func (f *Result) Show(kind video.Still, width, height int, base video.Ratio, line *Timeline) {
	f.Still = kind
	f.still = Stream{Index: stillIndex, Type: "video", Codec: "png", Width: width, Height: height, PixelFormat: "rgb24", TimeBase: fmt.Sprintf("%d/%d", base.Num, base.Den)}
	f.Timelines[stillIndex] = line
}

// SoundSpan returns when a track begins to be heard and when it ends, in seconds.
func (f *Result) SoundSpan(track Stream) (from, to float64) {
	line, tb := f.Timelines[track.Index], ParseRatio(track.TimeBase)
	first := line.First
	if s := track.Start; s != nil && *s > first && *s < line.End { // players skip what comes before
		first = *s
	}
	return tb.Seconds(first), tb.Seconds(line.End)
}
