package probe

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

const (
	// maxOpening is how many packets opening a file may take for a sparse
	// source. Three to ten are usual.
	maxOpening = 4096
	// maxElements is how many boxes of an MP4, or elements of a Matroska file,
	// are read.
	maxElements = 1 << 20
)

// errLayout means that a file is laid out in a way that we do not understand. It
// is then read whole, which costs only time.
var errLayout = errors.New("unknown layout")

// readIndex reads how a file is laid out, if a sparse source can save reading it
// whole.
func (p *Prober) readIndex(ctx context.Context, job ffmpeg.Job, found *Result, size int64, limit time.Duration) error {
	if size < p.cfg.MinSize || !found.SeeksExactly() {
		return nil
	}
	f, err := os.Open(job.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	o, r := &Index{Size: size}, &blocks{ctx: ctx, file: f}
	if strings.HasPrefix(found.Format.Name, "matroska,") {
		err = o.readMatroska(r)
	} else {
		err = o.readBoxes(r)
	}
	if errors.Is(err, errLayout) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read container index: %w", err)
	}
	if o.packets, err = p.countOpening(ctx, job, found, limit); err != nil || o.packets == 0 {
		return err
	}
	found.Index = o
	return nil
}

// opened is what libavformat says at debug level after it has opened a file and
// read packets until it knew all streams.
var opened = regexp.MustCompile(`After avformat_find_stream_info\(\) .* frames:(\d+)`)

// countOpening returns how many packets ffmpeg may read to open the file, or 0
// if that cannot be found out. Some are added, because encoding opens the file
// with slightly different options.
func (p *Prober) countOpening(ctx context.Context, job ffmpeg.Job, found *Result, limit time.Duration) (int, error) {
	args := slices.Concat(found.editOptions(), probeArgs(job.Source, found.refused, job.Sound))
	args[slices.Index(args, "-v")+1] = "debug"
	args[slices.Index(args, "-show_entries")+1] = "format=format_name"
	stderr, err := p.run.Probe(ctx, job, probePolicy(job, limit), args, func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err })
	if ours := ffmpeg.MachineError(err, ""); ours != nil {
		return 0, fmt.Errorf("count the packets that opening reads: %w", ours)
	}
	m := opened.FindStringSubmatch(stderr)
	if m == nil {
		return 0, nil
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > maxOpening/4 {
		return 0, nil
	}
	return 2*n + 32, nil
}

// readBoxes walks over the top-level boxes of an MP4 or QuickTime file.
// Everything but the media itself is structure: the movie box wherever it is,
// and the indexes of fragments.
func (o *Index) readBoxes(r io.ReaderAt) error {
	const beginning = 64 // of boxes that are skipped: demuxers read their headers
	for at, n := int64(0), 0; at < o.Size; n++ {
		kind, end, err := readBox(r, at, o.Size)
		if err != nil {
			return err
		}
		if n == maxElements || kind == "sidx" || end > o.Size {
			return errLayout // with an index of fragments, ffmpeg may seek anywhere
		}
		o.Fragmented = o.Fragmented || kind == "moof"
		s := video.Span{From: at, To: end}
		switch kind {
		case "mdat", "free", "skip", "wide":
			s.To = min(end, at+beginning)
		}
		o.addStructure(s)
		at = end
	}
	return nil
}

// addStructure notes what is not packets. What lies side by side is one span.
func (o *Index) addStructure(s video.Span) {
	if last := len(o.Structure) - 1; last >= 0 && o.Structure[last].To == s.From {
		o.Structure[last].To = s.To
		return
	}
	o.Structure = append(o.Structure, s)
}

// readBox returns the type and the end of the box at a position. A box that is cut
// off ends behind the file.
func readBox(r io.ReaderAt, at, size int64) (kind string, end int64, err error) {
	var b [16]byte
	n, err := r.ReadAt(b[:], at)
	if n < 8 {
		if err == nil || errors.Is(err, io.EOF) {
			err = errLayout
		}
		return "", 0, err
	}
	length, header := int64(binary.BigEndian.Uint32(b[:4])), int64(8)
	switch length {
	case 0:
		length = size - at // to the end
	case 1:
		length, header = int64(binary.BigEndian.Uint64(b[8:])), 16
	}
	if int64(n) < header || length < header || length > farAway {
		return "", 0, errLayout
	}
	return string(b[4:8]), at + length, nil
}

// Index is the container index: where a file keeps what is not packets.
type Index struct {
	Size      int64
	Structure []video.Span // what is read to open the file, without packets
	packets   int          // how many packets of all streams are read for that

	Fragmented bool // for MP4: its index is spread over the file

	// For Matroska only.
	Matroska bool
	cues     []cue // of the video track, in order of time
}

// OpeningSpans returns where the packets are that are read to open the file.
func (f *Result) OpeningSpans() ([]video.Span, bool) {
	n := f.Index.packets
	if n > len(f.opening) || slices.ContainsFunc(f.opening[:n], func(s video.Span) bool { return s.From < 0 || s.To > farAway }) {
		return nil, false
	}
	if !f.Index.Matroska || n == 0 {
		return f.opening[:n], true
	}
	// Matroska is read from its beginning, whatever is there.
	last := slices.MaxFunc(f.opening[:n], func(a, b video.Span) int { return cmp.Compare(a.To, b.To) })
	return []video.Span{{From: 0, To: last.To}}, true
}
