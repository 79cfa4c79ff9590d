package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
)

// ebml returns a Matroska element.
func ebml(id uint32, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	out := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, id), "\x00")
	out = binary.BigEndian.AppendUint64(out, 1<<56|uint64(len(all)))
	return append(out, all...)
}

// matroskaFile returns a file that is understood if its segment holds an index.
func matroskaFile(parts ...[]byte) []byte {
	tracks := ebml(idTracks, ebml(idTrack, ebml(idNumber, []byte{1}), ebml(idType, []byte{videoTrack})))
	return append(ebml(idHeader), ebml(idSegment, append([][]byte{tracks}, parts...)...)...)
}

// TestMatroskaOfManyElements wants files of millions of elements of two bytes not to fill the memory: they are
// read whole instead.
func TestMatroskaOfManyElements(t *testing.T) {
	const size, most = 64 << 20, 96 << 20 // bytes of the file, and what may be allocated, garbage included
	tiny := func(b ...byte) []byte { return bytes.Repeat(b, size/len(b)) }
	for name, file := range map[string][]byte{
		"empty entries of one time":   matroskaFile(ebml(idCues, ebml(idCue, tiny(idCuePlace, 0x80)))),
		"empty times":                 matroskaFile(ebml(idCues, tiny(idCue, 0x80))),
		"entries of many tracks":      matroskaFile(ebml(idCues, ebml(idCue, bytes.Repeat([]byte{idCuePlace, 0x83, idCueTrack, 0x81, 2}, size/5)))),
		"padding in a list of tracks": matroskaFile(ebml(idTracks, tiny(0xec, 0x80))),
		"padding in a list of places": matroskaFile(ebml(idSeekHead, tiny(0xec, 0x80))),
		"padding":                     matroskaFile(tiny(0xec, 0x80)),
		"clusters":                    matroskaFile(tiny(0x1f, 0x43, 0xb6, 0x75, 0x80)),
		"clusters and padding":        matroskaFile(tiny(0x1f, 0x43, 0xb6, 0x75, 0x80, 0xec, 0x80)),
		"many indexes":                matroskaFile(tiny(ebml(idCues, ebml(idCue, ebml(idCuePlace)))...)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := (&Index{Size: int64(len(file))}).readMatroska(&blocks{ctx: t.Context(), file: bytes.NewReader(file)})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errLayout) {
			t.Errorf("%s: readMatroska = %v; want errLayout", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: took %d MiB of memory; want at most %d", name, used>>20, most>>20)
		}
	}
}
