package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// readEnd notes whether the file is cut off: whether it ends in the middle of a
// part whose length it announces. Only headers are read. What is not understood
// is not judged, because a person who is told that a whole file is cut off looks
// for what is missing in vain.
//
// MPEG's streams are not judged: they may begin and end at any byte. An Ogg file
// without a last page is not, either: recorders of live streams write none.
func (f *Result) readEnd(ctx context.Context, source string, size int64) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close()
	f.CutOff, err = f.endsInside(&blocks{ctx: ctx, file: file}, size)
	if err != nil && !errors.Is(err, errLayout) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the end of the file: %w", err)
	}
	return nil
}

// endsInside reports whether a file of a container that is judged ends in the middle of a part.
func (f *Result) endsInside(r io.ReaderAt, size int64) (bool, error) {
	switch f.Format.Name {
	case "mov,mp4,m4a,3gp,3g2,mj2":
		return f.endsInBox(r, size)
	case "matroska,webm":
		return endsInElement(r, size)
	case "asf":
		return endsInObject(r, size)
	case "ogg":
		return endsInPage(r, size)
	case "flv":
		return f.endsInTag(r, size)
	}
	return false, nil
}

// fragmentBoxes are what fragments consist of. Others at the end may be no boxes
// at all: cameras append data of their own. A cut-off index ("mfra") costs no frame.
var fragmentBoxes = []string{"styp", "sidx", "prft", "emsg", "moof", "mdat"}

// endsInBox walks over the top-level boxes of an MP4 or QuickTime file. A file
// that is not fragmented lists its packets, and has to lack some: media data
// that are shorter than their box says may be all that there were.
func (f *Result) endsInBox(r io.ReaderAt, size int64) (bool, error) {
	fragmented := false
	for at, n := int64(0), 0; at < size && n < maxElements; n++ {
		kind, end, err := readBox(r, at, size)
		if err != nil {
			return false, err
		}
		fragmented = fragmented || kind == "moof"
		if end > size {
			return fragmented && slices.Contains(fragmentBoxes, kind) || kind == "mdat" && f.lacksPackets() && f.missing() > leastMissing, nil
		}
		at = end
	}
	return false, nil
}

// leastMissing is how many seconds an MP4 that is not fragmented has to lack. An edit list that ends early leaves
// fewer packets than are listed, but the announced duration counts only what is left.
const leastMissing = 0.1

// lacksPackets reports whether a stream has fewer packets than the file lists.
func (f *Result) lacksPackets() bool {
	return slices.ContainsFunc(f.Streams, func(s Stream) bool {
		return f.countsPackets(s) && f.Timelines[s.Index].Packets < s.Frames
	})
}

// hasAllPackets reports whether an MP4 has exactly the packets that it lists. Fragments are not listed.
func (f *Result) hasAllPackets() bool {
	return f.isMP4() && !slices.ContainsFunc(f.Streams, func(s Stream) bool {
		return f.countsPackets(s) && f.Timelines[s.Index].Packets != s.Frames
	})
}

// countsPackets reports whether the number of packets that an MP4 lists for a stream can be compared with how many
// there are. For audio that is not compressed, it lists samples. ffprobe delivers no packets of chapters.
func (f *Result) countsPackets(s Stream) bool {
	return f.Timelines[s.Index] != nil && s.Disposition["attached_pic"] == 0 && !strings.HasPrefix(s.Codec, "pcm_") && !strings.HasPrefix(s.Codec, "adpcm_")
}

// endsInElement walks over the elements of a Matroska file. Live recordings do
// not say how long the segment is, and some not how long the clusters are: then
// it walks over what is in them. Elsewhere, something with the short ID of a
// block is not one: it may be anything that follows the segment.
func endsInElement(r io.ReaderAt, size int64) (bool, error) {
	inCluster := false
	for at, n := int64(0), 0; at < size && n < maxElements; n++ {
		e, err := readElementHeader(r, at, size)
		if err != nil {
			return false, err
		}
		if e.id >= minTopID {
			inCluster = e.id == idCluster && e.endless
		}
		switch {
		case e.endless:
			at = e.body
		case e.to > size:
			return e.id == idSegment || e.id == idCluster || inCluster && (e.id == idBlockGroup || e.id == idSimpleBlock), nil
		default:
			at = e.to
		}
	}
	return false, nil
}

// The objects of an ASF file (Windows Media), and which flag of its properties
// says that sizes are not known because it was broadcast.
const (
	asfMagic      = "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c"
	asfProperties = "\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65"
	asfData       = "\x36\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c"

	asfBroadcast = 1
)

// endsInObject looks at the object that follows the header of an ASF file, which
// holds the data. A cut-off index behind it costs no frame.
func endsInObject(r io.ReaderAt, size int64) (bool, error) {
	_, header, err := readObject(r, 0)
	if err != nil {
		return false, err
	}
	for at, n := int64(30), 0; at < header && n < maxListed; n++ {
		kind, end, err := readObject(r, at)
		if err != nil {
			return false, err
		}
		var flags [4]byte
		if kind == asfProperties {
			if _, err := r.ReadAt(flags[:], at+88); err != nil || flags[0]&asfBroadcast != 0 {
				return false, err
			}
		}
		at = end
	}
	kind, end, err := readObject(r, header)
	return kind == asfData && end > size, err
}

// readObject returns the type and the end of the ASF object at a position.
func readObject(r io.ReaderAt, at int64) (kind string, end int64, err error) {
	var b [24]byte
	if _, err := r.ReadAt(b[:], at); err != nil {
		return "", 0, err
	}
	length := binary.LittleEndian.Uint64(b[16:])
	if length < uint64(len(b)) || length > farAway {
		return "", 0, errLayout
	}
	return string(b[:16]), at + int64(length), nil
}

// endsInPage looks at the last pages of an Ogg file. A page is one if another
// one, or the end of the file, follows it: its data may look like one, too.
func endsInPage(r io.ReaderAt, size int64) (bool, error) {
	const several = 3 * (oggHeader + 255 + 255*255) // the size of the largest page
	tail := make([]byte, min(size, several))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	proved := int64(len(tail)) == size // the file begins with a page
	for at := 0; at < len(tail); {
		page := tail[at:]
		body, n, ok := readOggPage(page)
		next := len(page) - len(body) + n
		switch {
		case proved && bytes.HasPrefix(page, []byte(oggMagic)) && (!ok || next > len(page)):
			return true, nil
		case ok && (next == len(page) || next < len(page) && bytes.HasPrefix(page[next:], []byte(oggMagic))):
			at, proved = at+next, true
		default:
			skip := bytes.Index(page[1:], []byte(oggMagic))
			if skip < 0 {
				return false, nil
			}
			at, proved = at+1+skip, false
		}
	}
	return false, nil
}

// endsInTag looks at the tag of the last packet of a Flash video.
func (f *Result) endsInTag(r io.ReaderAt, size int64) (bool, error) {
	const header = 11
	var b [4]byte // the type, and the length of the data
	if _, err := r.ReadAt(b[:], f.lastPacket); err != nil {
		return false, err
	}
	const audio, pictures = 8, 9
	length := int64(binary.BigEndian.Uint32(b[:]) & 0xffffff)
	return (b[0] == audio || b[0] == pictures) && f.lastPacket+header+length > size, nil
}
