package probe

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// The IDs of the Matroska elements that are read.
const (
	idHeader      = 0x1A45DFA3
	idSegment     = 0x18538067
	idSeekHead    = 0x114D9B74
	idSeek        = 0x4DBB
	idSeekID      = 0x53AB
	idSeekPos     = 0x53AC
	idTracks      = 0x1654AE6B
	idTrack       = 0xAE
	idNumber      = 0xD7
	idType        = 0x83
	idCluster     = 0x1F43B675
	idBlockGroup  = 0xA0
	idSimpleBlock = 0xA3
	idCues        = 0x1C53BB6B
	idCue         = 0xBB
	idCueTime     = 0xB3
	idCuePlace    = 0xB7
	idCueTrack    = 0xF7
	idCueAt       = 0xF1

	minTopID = 0x10000000 // the IDs of a segment, and of what it consists of, have four bytes

	videoTrack = 1 // the type of a track
)

// maxCues is how many entries an index may have: one for each keyframe, of which even a long video has fewer.
const maxCues = 1 << 18

// cue is an entry of Matroska's index: at this time, the cluster at this
// position has a keyframe.
type cue struct{ pts, at int64 }

// element is a part of a Matroska file: an ID, a length and a body.
type element struct {
	id             uint32
	from, body, to int64
	endless        bool // its length is not known
}

// readElement reads the ID and the length of the element at a position. An
// element without a length, as in live recordings, or one that reaches beyond
// limit, is errLayout.
func readElement(r io.ReaderAt, at, limit int64) (element, error) {
	e, err := readElementHeader(r, at, limit)
	if err == nil && (e.endless || e.to > limit) {
		err = errLayout
	}
	return e, err
}

// readElementHeader is readElement for any element whose ID and length end before
// limit.
func readElementHeader(r io.ReaderAt, at, limit int64) (element, error) {
	var b [12]byte
	n, err := r.ReadAt(b[:min(int64(len(b)), limit-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return element{}, err
	}
	id, idLen := vint(b[:n], 4, true)
	length, lengthLen := vint(b[min(idLen, n):n], 8, false)
	body := at + int64(idLen+lengthLen)
	if idLen == 0 || lengthLen == 0 {
		return element{}, errLayout
	}
	return element{id: uint32(id), from: at, body: body, to: body + int64(length), endless: length == 1<<(7*lengthLen)-1}, nil
}

// vint reads a number whose first byte says how many bytes it has, and returns
// how many; 0 when it is malformed. The marker bit is part of an ID, but not of
// a length.
func vint(b []byte, most int, name bool) (value uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	n = bits.LeadingZeros8(b[0]) + 1
	if n > most || n > len(b) {
		return 0, 0
	}
	value = number(b[:n])
	if !name {
		value &^= 1 << (7 * n)
	}
	return value, n
}

func number(b []byte) uint64 {
	var eight [8]byte
	copy(eight[8-min(len(b), 8):], b)
	return binary.BigEndian.Uint64(eight[:])
}

// readMatroska walks over the top-level elements of a file. Everything but the
// clusters is structure. A file is understood if it has an index that ffmpeg
// will find, and clusters that say how long they are.
func (o *Index) readMatroska(r io.ReaderAt) error {
	o.Matroska = true
	header, err := readElement(r, 0, o.Size)
	if err != nil || header.id != idHeader {
		return cmp.Or(err, errLayout)
	}
	segment, err := readElement(r, header.to, o.Size)
	if err != nil || segment.id != idSegment {
		return cmp.Or(err, errLayout)
	}
	m := matroska{Index: o, file: r, segment: segment.body}
	o.addStructure(video.Span{From: 0, To: segment.body})
	if err := m.children(segment, m.add); err != nil {
		return err
	}
	o.addStructure(video.Span{From: segment.to, To: o.Size})
	return m.finish()
}

// matroska is what is found on the way through a file.
type matroska struct {
	*Index
	file        io.ReaderAt
	segment     int64 // where its body begins: positions are relative to it
	elements    int   // how many were read, on all levels
	clusters    []int64
	video       uint64 // the number of the video track
	videoTracks int    // how many video tracks there are
	index       int64  // where the file says that the index is
	found       int64  // where it is
	places      []place
}

// place is an entry of the index, of any track.
type place struct {
	track uint64
	cue
}

// children calls f for each element in the body of another one. Nothing of a body is held in memory.
func (m *matroska) children(of element, f func(element) error) error {
	for at := of.body; at < of.to; {
		if m.elements++; m.elements > maxElements {
			return errLayout
		}
		e, err := readElement(m.file, at, of.to)
		if err != nil {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
		at = e.to
	}
	return nil
}

// numbers returns the numbers that an element holds under two IDs.
func (m *matroska) numbers(of element, first, second uint32) (a, b uint64, err error) {
	err = m.children(of, func(e element) (err error) {
		switch e.id {
		case first:
			a, err = m.number(e)
		case second:
			b, err = m.number(e)
		}
		return err
	})
	return a, b, err
}

// number returns the number that an element holds.
func (m *matroska) number(e element) (uint64, error) {
	var eight [8]byte
	b := eight[:min(int64(len(eight)), e.to-e.body)]
	if _, err := m.file.ReadAt(b, e.body); err != nil {
		return 0, err
	}
	return number(b), nil
}

// add notes what a top-level element says.
func (m *matroska) add(e element) error {
	if e.id == idCluster {
		m.clusters = append(m.clusters, e.from)
		return nil
	}
	m.addStructure(video.Span{From: e.from, To: e.to})
	switch e.id {
	case idSeekHead:
		return m.children(e, m.addSeek)
	case idTracks:
		return m.children(e, m.addTrack)
	case idCues:
		m.found = e.from
		if len(m.clusters) == 0 {
			m.index = e.from // ffmpeg reads it before the first cluster
		}
		m.places = m.places[:0]
		return m.children(e, m.addCue)
	}
	return nil
}

// addSeek notes where the file says that its index is.
func (m *matroska) addSeek(e element) error {
	if e.id != idSeek {
		return nil
	}
	what, at, err := m.numbers(e, idSeekID, idSeekPos)
	if what == idCues {
		m.index = m.segment + int64(at&(farAway-1))
	}
	return err
}

// addTrack notes which track is the video.
func (m *matroska) addTrack(e element) error {
	if e.id != idTrack {
		return nil
	}
	track, kind, err := m.numbers(e, idNumber, idType)
	if kind == videoTrack {
		m.video = track
		m.videoTracks++
	}
	return err
}

// addCue notes the entries of the index for one time.
func (m *matroska) addCue(e element) error {
	if e.id != idCue {
		return nil
	}
	var pts uint64
	return m.children(e, func(e element) (err error) {
		switch e.id {
		case idCueTime:
			pts, err = m.number(e)
		case idCuePlace:
			err = m.addPlace(int64(pts&(farAway-1)), e)
		}
		return err
	})
}

// addPlace notes an entry of the index.
func (m *matroska) addPlace(pts int64, e element) error {
	if len(m.places) == maxCues {
		return errLayout
	}
	track, at, err := m.numbers(e, idCueTrack, idCueAt)
	m.places = append(m.places, place{track, cue{pts, m.segment + int64(at&(farAway-1))}})
	return err
}

// finish checks that ffmpeg will find the index of the video track, and that it
// points at clusters.
func (m *matroska) finish() error {
	var cues []cue
	for _, p := range m.places {
		if p.track == m.video {
			cues = append(cues, p.cue)
		}
	}
	if m.videoTracks != 1 || m.found == 0 || m.index != m.found || len(cues) == 0 {
		return errLayout
	}
	slices.SortStableFunc(cues, func(a, b cue) int { return cmp.Compare(a.pts, b.pts) })
	for i, c := range cues {
		if _, found := slices.BinarySearch(m.clusters, c.at); !found || i > 0 && c.at < cues[i-1].at {
			return errLayout
		}
	}
	m.Index.cues = cues
	return nil
}

// seekEarly is by how many seconds ffmpeg seeks before the time that it is
// given: Matroska stores presentation times, and its index may store others.
const seekEarly = 3.0/23 + 0.001

// Through returns what ffmpeg reads of a Matroska file to get at some packets:
// everything from the cluster that the index leads to, up to the last of them.
func (o *Index) Through(packets []video.Span, seek int64, tb video.Ratio) []video.Span {
	all := video.Span{From: packets[0].From, To: packets[0].To}
	for _, s := range packets {
		all.From, all.To = min(all.From, s.From), max(all.To, s.To)
	}
	if seek == video.NoSeek {
		return []video.Span{{From: 0, To: all.To}}
	}
	early := int64(tb.Ticks(seekEarly))
	all.From = min(all.From, o.cues[max(o.cueAt(seek-early-1), 0)].at)
	if o.cueAt(seek+1) == len(o.cues)-1 {
		all.To = o.Size // behind the last entry, ffmpeg searches for more of them to the end of the file
	}
	return []video.Span{all}
}

// cueAt returns the last entry of the index that is not after a time, or -1.
func (o *Index) cueAt(pts int64) int {
	i, _ := slices.BinarySearchFunc(o.cues, pts+1, func(c cue, pts int64) int { return cmp.Compare(c.pts, pts) })
	return i - 1
}
