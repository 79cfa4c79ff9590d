package encode

import (
	"math"

	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// generation orders codecs by how much a bit of theirs gives. A source in a codec that is not listed says nothing about
// the bits it needs: it may be an editing format, or a lossless screen recording.
var generation = map[string]int{
	"vp8": 1, "mpeg4": 1, "mpeg2video": 1, "mpeg1video": 1, "h263": 1, "flv1": 1, "wmv2": 1, "wmv3": 1, "vc1": 1, "theora": 1,
	"h264": 2, "hevc": 3, "vp9": 3, "av1": 4,
}

// How many of the source's bits a rendition may have. What a source has lost, no bits restore. 1.05 and 1.6 times
// are promised; encoders do not hit a limit exactly.
const (
	ofEqual = 1.0 // of a source in a codec of the same generation
	ofNewer = 1.5 // of a newer one
	ofOlder = 2   // of an older one, whose artefacts have to be kept, too
)

// leastLimit is what every picture may have, in bits a second: below it, keyframes look bad.
const leastLimit = plan.MinBitrate * 1000

// sourceLimit returns how many bits a second the picture of a rendition may have on average, so that it does not have more
// than its source. It returns false if the source says nothing, or if it is the size that limits the rendition.
func sourceLimit(p *video.Plan, r video.Rendition, codec video.Codec) (most int64, limited bool) {
	from, bytes, seconds := generation[p.Input.Codec], sourceBytes(p), p.Duration.Seconds()
	pixels := float64(p.Input.CodedWidth) * float64(p.Input.CodedHeight)
	if from == 0 || bytes == 0 || seconds <= 0 || pixels <= 0 {
		return 0, false
	}
	factor := ofEqual
	switch to := generation[string(codec)]; {
	case from > to:
		factor = ofNewer
	case from < to:
		factor = ofOlder
	}
	// Four times as many pixels need less than four times as many bits. Smaller ones show less of what was lost.
	share := min(1, 2*math.Pow(float64(r.Width)*float64(r.Height)/pixels, 0.6))
	most = max(int64(float64(8*bytes)/seconds*factor*share), leastLimit)
	highest := float64(highestBitrate(codec, r, outputRate(p, r))) * 1000
	return most, float64(most) < highest*(1+filled*bufferSeconds/seconds)
}

// sourceBytes is how many bytes the picture of a plan has in the source; 0 means unknown.
func sourceBytes(p *video.Plan) (all int64) {
	for _, c := range p.Chunks {
		all += c.Bytes
	}
	return all
}

const (
	// filled is how much of their buffer encoders use up at once where they begin.
	filled = 0.9
	// lump is how much of the bits of a chunk may be used up at once. More would leave too little for the rest.
	lump = 0.15
	// evenShare of the bits is given to chunks by their lengths, the others by what the source has of each: a still part
	// has a keyframe every two seconds, which the source may have once a minute.
	evenShare = 0.25
)

// chunkRate returns the cap of chunk n of a rendition, and its buffer: kbit/s and kbit. In a chunk of some seconds an encoder
// spends at most its cap in each, and what the buffer holds at the beginning, so all chunks together keep the limit
// of the rendition. highest is the cap of its size.
func chunkRate(p *video.Plan, r video.Rendition, n, highest int) (kbps, buffer int) {
	buffer = bufferSize(highest)
	most, seconds := float64(r.MaxBitrate[p.OutputCodec()])/1000, p.Length(n).Seconds()
	if most == 0 || seconds <= 0 {
		return highest, buffer
	}
	share := seconds / p.Duration.Seconds()
	if all := sourceBytes(p); all > 0 {
		share = evenShare*share + (1-evenShare)*float64(p.Chunks[n].Bytes)/float64(all)
	}
	bits := most * p.Duration.Seconds() * share
	reach := float64(bufferSeconds) // of the buffer, in seconds of the cap
	if fps := outputRate(p, r); fps > 0 {
		reach = max(reach, 1/fps) // no encoder has one that is shorter than a frame
	}
	buffer = min(buffer, int(bits*max(lump/filled, reach/(seconds+filled*reach))))
	kbps = min(highest, int((bits-filled*float64(buffer))/seconds))
	return max(kbps, 1), max(buffer, 1)
}
