package mp4

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/Eyevinn/mp4ff/bits"
	mp4ff "github.com/Eyevinn/mp4ff/mp4"

	"github.com/spool-video/spool/internal/panics"
)

// leaf marks a box without child boxes.
const leaf = -1

// maxDepth is how deep boxes of boxShapes are nested in a valid file: moov,
// trak, mdia, minf, stbl, stsd, avc1, avcC.
const maxDepth = 8

// boxShapes names every box inside moov that is read. The number is how many
// bytes of its body come before its child boxes.
//
// Bitrates (btrt) are left out: the bitrate of one chunk would be wrong for the whole.
var boxShapes = map[string]int{
	"moov": 0, "mvhd": leaf,
	"trak": 0, "tkhd": leaf,
	"edts": 0, "elst": leaf,
	"mdia": 0, "mdhd": leaf,
	"minf": 0, "stbl": 0,
	"stts": leaf, "ctts": leaf, "stss": leaf, "stsc": leaf, "stsz": leaf, "stco": leaf, "co64": leaf,
	"stsd": 8,
	"avc1": 78, "avcC": leaf, "hvc1": 78, "hvcC": leaf, "av01": 78, "av1C": leaf, "pasp": leaf, "colr": leaf,
	"mp4a": 28, "esds": leaf,
}

// readMoov finds and decodes the movie box among boxes. It is read into memory,
// so it may have most bytes only.
func (p Input) readMoov(boxes []topBox, most int64) (*mp4ff.MoovBox, error) {
	for _, b := range boxes {
		if b.name != "moov" {
			continue
		}
		if b.size > most {
			return nil, fmt.Errorf("%w: the movie box has %d bytes, more than %d", ErrTooLarge, b.size, most)
		}
		raw := make([]byte, b.size)
		if err := p.readFull(raw, b.offset); err != nil {
			return nil, fmt.Errorf("read the movie box: %w", err)
		}
		return decodeMoov(raw)
	}
	return nil, errors.New("the file has no movie box")
}

// decodeMoov decodes the boxes of a movie box that boxShapes names. A panic of
// the decoder is an error of the file: its input comes from outside.
func decodeMoov(raw []byte) (*mp4ff.MoovBox, error) {
	var box mp4ff.Box
	err := panics.Catch(func() error {
		pruned, err := prune(raw[:0], raw, "", 1) // in place: it only gets shorter
		if err != nil {
			return err
		}
		box, err = mp4ff.DecodeBoxSR(0, bits.NewFixedSliceReader(pruned))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("decode the movie box: %w", err)
	}
	moov, ok := box.(*mp4ff.MoovBox)
	if !ok || moov.Mvhd == nil || moov.Mvhd.Timescale == 0 {
		return nil, errors.New("the movie box has no usable header")
	}
	return moov, nil
}

// prune appends to dst the boxes of src that boxShapes names. mp4ff decodes any
// box anywhere, however deep, and some of its decoders trust the counts that
// they read; it is given only boxes that are harmless.
func prune(dst, src []byte, parent string, depth int) ([]byte, error) {
	for len(src) > 0 {
		if len(src) < boxHeader {
			return nil, fmt.Errorf("%d stray bytes at the end of %q", len(src), parent)
		}
		name, size := string(src[4:8]), uint64(binary.BigEndian.Uint32(src))
		if size < boxHeader || size > uint64(len(src)) {
			return nil, fmt.Errorf("box %q in %q claims %d bytes of %d", name, parent, size, len(src))
		}
		shape, known := boxShapes[name]
		switch {
		case !known && parent == "stsd":
			return nil, fmt.Errorf("codec %q is not supported", name)
		case !known:
		case shape == leaf:
			dst = append(dst, src[:size]...)
		case depth == maxDepth || size < uint64(boxHeader+shape):
			return nil, fmt.Errorf("box %q in %q is malformed", name, parent)
		default:
			start, body := len(dst), boxHeader+shape
			dst = append(dst, src[:body]...)
			var err error
			if dst, err = prune(dst, src[body:size], name, depth+1); err != nil {
				return nil, err
			}
			binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start))
		}
		src = src[size:]
	}
	return dst, nil
}
