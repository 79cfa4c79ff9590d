package still

import (
	"encoding/binary"
	"iter"
	"strings"
)

// ffmpeg 5.1 cannot open AVIF, though its decoders can decode the picture in it. So the picture is taken out here, and
// written as IVF, the simplest file that holds AV1.

// isAVIF reports whether a file says that it is AVIF, which may hold one picture or several.
func isAVIF(file []byte) bool {
	for name, body := range boxes(file) {
		if name != "ftyp" {
			return false
		}
		for i := 0; i+4 <= len(body); i += 4 {
			if brand := string(body[i : i+4]); i != 4 && (brand == "avif" || brand == "avis") { // the version is no brand
				return true
			}
		}
		return false
	}
	return false
}

var errAVIF = &RefusedError{Reason: "The AVIF is damaged or of an unusual sort: only one that holds its picture in a single piece can be used."}

// unwrapAVIF returns the main picture of an AVIF as IVF, and the filter that turns it upright.
func unwrapAVIF(file []byte) (out []byte, turn string, err error) {
	meta, ok := find(file, "meta")
	if !ok || len(meta) < 4 {
		return nil, "", errAVIF
	}
	meta = meta[4:]
	pitm, _ := find(meta, "pitm")
	iloc, _ := find(meta, "iloc")
	r := reader{rest: pitm}
	version := r.uint(1)
	r.uint(3)
	item := r.uint(2 + 2*min(version, 1))
	if r.short || !isAV1(meta, item) {
		return nil, "", errAVIF
	}
	idat, _ := find(meta, "idat")
	obus := extents(iloc, item, file, idat)
	if len(obus) == 0 {
		return nil, "", errAVIF
	}
	return ivf(obus), turnOf(meta, item), nil
}

// ivf wraps one frame.
func ivf(frame []byte) []byte {
	le := binary.LittleEndian
	out := []byte("DKIF\x00\x00\x20\x00AV01")
	out = append(out, 0, 0, 0, 0)  // the size is in the frame
	out = le.AppendUint32(out, 25) // frames a second
	out = le.AppendUint32(out, 1)  //
	out = le.AppendUint32(out, 1)  // frames
	out = append(out, 0, 0, 0, 0)  // unused
	out = le.AppendUint32(out, uint32(len(frame)))
	out = le.AppendUint64(out, 0) // when it is shown
	return append(out, frame...)
}

// isAV1 reports whether an item is a picture in AV1, and not, for example, a grid of several.
func isAV1(meta []byte, item uint64) bool {
	iinf, _ := find(meta, "iinf")
	r := reader{rest: iinf}
	version := r.uint(1)
	r.uint(3)
	r.uint(2 + 2*min(version, 1))
	for name, body := range boxes(r.rest) {
		e := reader{rest: body}
		v := e.uint(1)
		e.uint(3)
		if name != "infe" || v != 2 && v != 3 {
			continue
		}
		id := e.uint(2 * (v - 1))
		e.uint(2)
		if id == item && strings.HasPrefix(string(e.rest), "av01") {
			return !e.short
		}
	}
	return false
}

// maxPieces is in how many pieces an item may lie.
const maxPieces = 64

// extents returns the bytes of an item, or nil.
func extents(iloc []byte, item uint64, file, idat []byte) (out []byte) {
	r := reader{rest: iloc}
	version := r.uint(1)
	r.uint(3)
	sizes := r.uint(2)
	offsetSize, lengthSize, baseSize, indexSize := sizes>>12, sizes>>8&15, sizes>>4&15, sizes&15
	wide := 2 + 2*(version/2)
	for range min(r.uint(wide), 1<<16) {
		id, method := r.uint(wide), uint64(0)
		if version > 0 {
			method = r.uint(2) & 15
		}
		r.uint(2)
		base, pieces := r.uint(baseSize), r.uint(2)
		if pieces > maxPieces {
			return nil
		}
		for range pieces {
			if version > 0 {
				r.uint(indexSize)
			}
			offset, length := base+r.uint(offsetSize), r.uint(lengthSize)
			from := file
			if method == 1 {
				from = idat
			}
			size := uint64(len(from))
			if r.short || id == item && (method > 1 || offset > size || length > size-offset || len(out) > len(file)) {
				return nil
			}
			if id == item {
				out = append(out, from[offset:offset+length]...)
			}
		}
	}
	return out
}

// turns are the filters for irot, which counts quarters of a turn counter-clockwise.
var turns = []string{"", "transpose=cclock,", "hflip,vflip,", "transpose=clock,"}

// turnOf returns the filter that turns an item upright.
func turnOf(meta []byte, item uint64) string {
	iprp, _ := find(meta, "iprp")
	ipco, _ := find(iprp, "ipco")
	ipma, _ := find(iprp, "ipma")
	var properties []string // the filter for each
	for name, body := range boxes(ipco) {
		filter := ""
		if name == "irot" && len(body) > 0 {
			filter = turns[body[0]&3]
		}
		properties = append(properties, filter)
	}
	r := reader{rest: ipma}
	version, flags := r.uint(1), r.uint(3)
	mask := uint64(0x7f) // without the bit that says whether it is essential
	if flags&1 == 1 {
		mask = 0x7fff
	}
	for range min(r.uint(4), 1<<16) {
		id := r.uint(2 + 2*min(version, 1))
		for range r.uint(1) {
			n := r.uint(1+flags&1) & mask
			if id == item && !r.short && n > 0 && n <= uint64(len(properties)) && properties[n-1] != "" {
				return properties[n-1]
			}
		}
		if r.short {
			return ""
		}
	}
	return ""
}

// find returns the body of the first box of a name.
func find(in []byte, name string) ([]byte, bool) {
	for n, body := range boxes(in) {
		if n == name {
			return body, true
		}
	}
	return nil, false
}

// boxes yields the boxes of a file or of another box, up to one that is not whole.
func boxes(in []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for len(in) >= 8 {
			size, head := uint64(binary.BigEndian.Uint32(in)), uint64(8)
			switch {
			case size == 0: // to the end
				size = uint64(len(in))
			case size == 1 && len(in) >= 16:
				size, head = binary.BigEndian.Uint64(in[8:]), 16
			}
			if size < head || size > uint64(len(in)) || !yield(string(in[4:8]), in[head:size]) {
				return
			}
			in = in[size:]
		}
	}
}

// reader reads numbers. After the end, all are 0 and short is set.
type reader struct {
	rest  []byte
	short bool
}

// uint reads a number of so many bytes, at most 8.
func (r *reader) uint(bytes uint64) (n uint64) {
	if bytes > 8 || uint64(len(r.rest)) < bytes {
		r.short, r.rest = true, nil
		return 0
	}
	for _, b := range r.rest[:bytes] {
		n = n<<8 | uint64(b)
	}
	r.rest = r.rest[bytes:]
	return n
}
