package hostile

import (
	"bytes"
	"encoding/binary"
	"slices"
)

func be16(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }
func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func le16(n uint16) []byte { return binary.LittleEndian.AppendUint16(nil, n) }
func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// box makes a box of an MP4 file.
func box(name string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(be32(uint32(8+len(body))), []byte(name), body)
}

// fullBox makes a box that has a version and flags, all zero.
func fullBox(name string, parts ...[]byte) []byte {
	return box(name, append([][]byte{make([]byte, 4)}, parts...)...)
}

// track is one track of frames in an MP4 file, as its tables describe it. What
// is left zero gets a harmless value.
type track struct {
	codec         string // default "png "
	width, height uint16
	extensions    []byte // boxes behind the description of the frames
	timescale     uint32
	count         uint32 // of samples
	size          uint32 // of each sample
	sizes         []byte // the table of sizes, when they differ
	durations     []run
	edits         []byte // the edit list, when there is one
	reference     []byte // where the samples lie; default is this file
	apart         uint32 // each sample is a chunk, and every other one lies so many bytes behind the first
}

// run is how many samples in a row last how long.
type run struct{ count, ticks uint32 }

// movie makes an MP4 file whose tracks all begin with the first byte of media.
func movie(media []byte, tracks ...track) []byte {
	head := box("ftyp", []byte("isom\x00\x00\x02\x00isommp41"))
	parts := [][]byte{fullBox("mvhd", make([]byte, 8), be32(1000), be32(1000), be32(0x10000), be16(0x100), make([]byte, 10), unity, make([]byte, 24), be32(2))}
	for i, t := range tracks {
		parts = append(parts, t.box(uint32(i+1), uint32(len(head)+8)))
	}
	return slices.Concat(head, box("mdat", media), box("moov", parts...))
}

// unity is the matrix without rotation.
var unity = slices.Concat(be32(0x10000), make([]byte, 12), be32(0x10000), make([]byte, 12), be32(0x40000000))

func (t track) box(id, offset uint32) []byte {
	if t.timescale == 0 {
		t.timescale = 1000
	}
	if t.durations == nil {
		t.durations = []run{{t.count, 40}}
	}
	var length uint32
	for _, d := range t.durations {
		length += d.count * d.ticks
	}
	if t.reference == nil {
		t.reference = box("url ", be32(1))
	}
	header := fullBox("tkhd", make([]byte, 8), be32(id), make([]byte, 4), be32(1000), make([]byte, 16), unity, be16(t.width), be16(0), be16(t.height), be16(0))
	header[11] = 7 // enabled, in the movie, in the preview
	media := box("mdia",
		fullBox("mdhd", make([]byte, 8), be32(t.timescale), be32(length), be32(0x55c40000)),
		fullBox("hdlr", make([]byte, 4), []byte("vide"), make([]byte, 13)),
		box("minf", fullBox("vmhd", make([]byte, 8)),
			box("dinf", fullBox("dref", be32(1), t.reference)),
			t.tables(offset)))
	return box("trak", header, t.edits, media)
}

// tables are what the bombs are made of: a few bytes that stand for any number
// of samples.
func (t track) tables(offset uint32) []byte {
	codec := t.codec
	if codec == "" {
		codec = "png "
	}
	entry := box(codec, make([]byte, 6), be16(1), make([]byte, 16), be16(t.width), be16(t.height),
		be32(0x480000), be32(0x480000), make([]byte, 4), be16(1), make([]byte, 32), be16(24), be16(0xffff), t.extensions)
	var durations []byte
	for _, d := range t.durations {
		durations = append(durations, append(be32(d.count), be32(d.ticks)...)...)
	}
	perChunk, chunks := t.count, be32(offset)
	if t.apart > 0 {
		perChunk, chunks = 1, repeat(int(t.count), func(n int) []byte { return be32(offset + uint32(n%2)*t.apart) })
	}
	return box("stbl",
		fullBox("stsd", be32(1), entry),
		fullBox("stts", be32(uint32(len(t.durations))), durations),
		fullBox("stsc", be32(1), be32(1), be32(perChunk), be32(1)),
		fullBox("stsz", be32(t.size), be32(t.count), t.sizes),
		fullBox("stco", be32(uint32(len(chunks)/4)), chunks))
}

// repeat joins n copies of what a function makes of their number.
func repeat(n int, part func(int) []byte) []byte {
	var b bytes.Buffer
	for i := range n {
		b.Write(part(i))
	}
	return b.Bytes()
}
