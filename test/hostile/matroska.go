package hostile

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// element makes an element of a Matroska file, with a size of eight bytes.
func element(id uint32, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(elementID(id), sizeOf(uint64(len(body))), body)
}

func elementID(id uint32) []byte {
	return bytes.TrimLeft(be32(id), "\x00")
}

func sizeOf(n uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, 1<<56|n)
}

// The elements of Matroska that are used here.
const (
	idEBML        = 0x1a45dfa3
	idDocType     = 0x4282
	idSegment     = 0x18538067
	idInfo        = 0x1549a966
	idScale       = 0x2ad7b1
	idTracks      = 0x1654ae6b
	idTrackEntry  = 0xae
	idTrackNumber = 0xd7
	idTrackUID    = 0x73c5
	idTrackType   = 0x83
	idCodec       = 0x86
	idPrivate     = 0x63a2
	idVideo       = 0xe0
	idWidth       = 0xb0
	idHeight      = 0xba
	idAudio       = 0xe1
	idFrequency   = 0xb5
	idChannels    = 0x9f
	idBitDepth    = 0x6264
	idCluster     = 0x1f43b675
	idTimecode    = 0xe7
	idSimpleBlock = 0xa3
	idTags        = 0x1254c367
	idTag         = 0x7373
	idSimpleTag   = 0x67c8
	idTagName     = 0x45a3
	idChapters    = 0x1043a770
	idEdition     = 0x45b9
	idChapter     = 0xb6
	idChapterUID  = 0x73c4
	idChapterTime = 0x91
	idAttachments = 0x1941a469
	idAttached    = 0x61a7
	idFileName    = 0x466e
	idMediaType   = 0x4660
	idFileData    = 0x465c
	idFileUID     = 0x46ae
)

// matroska makes a file of these tracks.
func matroska(scale uint32, tracks []byte, parts ...[]byte) []byte {
	head := [][]byte{element(idInfo, element(idScale, be32(scale))), element(idTracks, tracks)}
	return slices.Concat(element(idEBML, element(idDocType, []byte("matroska"))), element(idSegment, append(head, parts...)...))
}

const (
	picturesTrack = 1
	soundTrack    = 2
)

// videoTrack is a track of frames of 64 × 64 pixels.
func videoTrack(codec string, private []byte) []byte {
	video := element(idVideo, element(idWidth, be16(64)), element(idHeight, be16(64)))
	return element(idTrackEntry, element(idTrackNumber, []byte{picturesTrack}), element(idTrackUID, []byte{picturesTrack}), element(idTrackType, []byte{1}),
		element(idCodec, []byte(codec)), element(idPrivate, private), video)
}

// pngTrack is a track of frames that are stored as PNG, in the way of AVI.
func pngTrack() []byte {
	return videoTrack("V_MS/VFW/FOURCC", slices.Concat(le32(40), le32(64), le32(64), le16(1), le16(24), []byte("MPNG"), make([]byte, 20)))
}

// audioTrack is a track of audio, one byte for each of 8000 moments a second.
func audioTrack() []byte {
	audio := element(idAudio, element(idFrequency, binary.BigEndian.AppendUint64(nil, math.Float64bits(8000))), element(idChannels, []byte{1}), element(idBitDepth, []byte{8}))
	return element(idTrackEntry, element(idTrackNumber, []byte{soundTrack}), element(idTrackUID, []byte{soundTrack}), element(idTrackType, []byte{2}),
		element(idCodec, []byte("A_PCM/INT/LIT")), audio)
}

// simpleBlock is one picture or some audio, or several of them in a lace.
func simpleBlock(track, flags byte, body ...[]byte) []byte {
	return element(idSimpleBlock, append([][]byte{{0x80 | track, 0, 0, 0x80 | flags}}, body...)...)
}

func cluster(timecode uint32, blocks ...[]byte) []byte {
	return element(idCluster, append([][]byte{element(idTimecode, be32(timecode))}, blocks...)...)
}

const millisecond = 1_000_000 // in nanoseconds

// matroskaBombs misuse what Matroska has instead of tables: elements in
// elements, laces, and sizes of up to eight bytes.
func matroskaBombs() []Sample {
	still := simpleBlock(picturesTrack, 0, PNG(64, 64))
	film := func(parts ...[]byte) []byte { return matroska(millisecond, pngTrack(), parts...) }
	return []Sample{
		{Name: "2.5 million pictures in laces", Ends: []string{corrupt, tooLong, limitTime, limitMemory}, Slow: true, Make: func() []byte { return laces(10_000) }},
		{Name: "250,000 pictures in laces", Ends: []string{corrupt, limitTime}, Make: func() []byte { return laces(1000) }},
		{Name: "200,000 pictures of no length", Ends: []string{corrupt}, Make: func() []byte {
			return film(cluster(0, bytes.Repeat(simpleBlock(picturesTrack, 0), 200_000)))
		}},
		{Name: "a segment of 64 PiB", Ends: []string{Converted, corrupt}, Make: func() []byte {
			b := film(cluster(0, still))
			copy(b[bytes.Index(b, elementID(idSegment))+4:], sizeOf(1<<56-2))
			return b
		}},
		{Name: "a picture that claims 64 TiB", Ends: []string{corrupt, limitMemory}, Make: func() []byte {
			return film(cluster(0, slices.Concat(elementID(idSimpleBlock), sizeOf(1<<46), []byte{0x81, 0, 0, 0x80})))
		}},
		{Name: "tags in tags, 20,000 deep", Ends: []string{Converted, corrupt}, Make: func() []byte { return film(nestedTags(20_000), cluster(0, still)) }},
		{Name: "100,000 chapters", Ends: []string{Converted, limitMemory}, Make: func() []byte {
			chapters := repeat(100_000, func(i int) []byte {
				return element(idChapter, element(idChapterUID, be32(uint32(i+1))), element(idChapterTime, be32(uint32(i))))
			})
			return film(element(idChapters, element(idEdition, chapters)), cluster(0, still))
		}},
		{Name: "a tick of 4 seconds and the latest time there is", Ends: []string{tooLong}, Make: func() []byte {
			return matroska(4_000_000_000, pngTrack(), cluster(0, still), cluster(math.MaxUint32, still))
		}},
		{Name: "sound with a gap of 2 minutes", Ends: []string{Converted}, Make: func() []byte { return gap(2) }},
		{Name: "sound with a gap of 4 hours", Ends: []string{Converted}, Slow: true, Make: func() []byte { return gap(4 * 60) }},
		{Name: "an attachment whose name leads out of its folder", Ends: []string{Converted}, Make: func() []byte {
			attached := element(idAttached, element(idFileName, []byte("../../../planted")), element(idMediaType, []byte("font/ttf")),
				element(idFileData, make([]byte, 100)), element(idFileUID, []byte{1}))
			return film(element(idAttachments, attached), cluster(0, still))
		}},
	}
}

// gap makes a video that is silent for minutes between two noises.
func gap(minutes uint32) []byte {
	still, noise := simpleBlock(picturesTrack, 0, PNG(64, 64)), simpleBlock(soundTrack, 0, bytes.Repeat([]byte{0, 255}, 400))
	return matroska(millisecond, append(pngTrack(), audioTrack()...), cluster(0, still, noise), cluster(minutes*60*1000, still, noise))
}

// laces makes n laces of 256 frames of one byte each.
func laces(n int) []byte {
	const fixed, frames = 0x04, 256
	lace := simpleBlock(picturesTrack, fixed, []byte{frames - 1}, make([]byte, frames))
	return matroska(millisecond, pngTrack(), cluster(0, bytes.Repeat(lace, n)))
}

// nestedTags makes a tag in a tag in a tag, from the innermost outwards.
func nestedTags(depth int) []byte {
	name := element(idTagName, []byte("x"))
	head := len(elementID(idSimpleTag)) + 8 + len(name)
	tags := repeat(depth, func(i int) []byte {
		return slices.Concat(elementID(idSimpleTag), sizeOf(uint64(head*(depth-i)-head+len(name))), name)
	})
	return element(idTags, element(idTag, tags))
}
