package video

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decision is one decision about a video, and its reason, in sentences for people.
type Decision struct {
	What string
	Why  string
}

// Decisions explains what a plan does with its source, in the order of processing.
func (p *Plan) Decisions() []Decision {
	var all []Decision
	add := func(what, why string) { all = append(all, Decision{what, why}) }
	p.decideStream(add)
	p.decidePart(add)
	p.decideShape(add)
	p.decideColours(add)
	p.decideRate(add)
	p.decideSizes(add)
	p.decideCopy(add)
	p.decideQuality(add)
	p.decideLimits(add)
	p.decideEncoding(add)
	p.decideAudio(add)
	p.decideThumbnails(add)
	p.decideCaptions(add)
	add("Titles, locations, dates, chapters and all other data of the file are removed.",
		"They may reveal more about the author than viewers should know.")
	return all
}

func (p *Plan) decideStream(add func(what, why string)) {
	switch p.Input.Still {
	case Cover:
		add("The cover of the file is the picture, from the beginning to the end.", "The file has sound and no video.")
		return
	case Waveform:
		add("The waveform of the sound is the picture, from the beginning to the end.", "The file has sound and neither a video nor a cover that can be decoded.")
		return
	}
	add(fmt.Sprintf("Stream %d of the file is the video.", p.Input.VideoStream),
		"Of the video streams that can be decoded, the default one is used, or else the largest.")
}

func (p *Plan) decidePart(add func(what, why string)) {
	if p.Part == nil {
		return
	}
	tb := p.Input.TimeBase
	from := tb.Seconds(p.FirstPTS - p.Part.Origin)
	add(fmt.Sprintf("Only a part of the file is made: from second %s to %s.", formatNumber(from), formatNumber(from+p.Duration.Seconds())),
		"The upload asked for it. All times of the video count from the first frame of the part.")
}

func (p *Plan) decideCaptions(add func(what, why string)) {
	switch n := len(p.TextTracks()); {
	case n == 1:
		add("The text track becomes captions.", "Viewers can switch them on and off; drawn into the picture, they could not.")
	case n > 1:
		add(fmt.Sprintf("%d text tracks become captions, one for each language.", n), "Viewers can choose; drawn into the picture, they could not.")
	}
}

func (p *Plan) decideShape(add func(what, why string)) {
	in := p.Input
	if in.Rotation != 0 {
		add(fmt.Sprintf("The video is rotated by %d degrees clockwise.", in.Rotation),
			"The file stores its frames rotated; players that ignore this would show them sideways.")
	}
	width, height := in.CodedWidth, in.CodedHeight
	if in.Rotation%180 != 0 {
		width, height = height, width
	}
	// Sizes are rounded to whole pixels, so a difference of one is no other aspect ratio.
	if abs(width-in.Width) > 1 || abs(height-in.Height) > 1 {
		add(fmt.Sprintf("Pixels are made square: %d × %d become %d × %d.", width, height, in.Width, in.Height),
			"The file's pixels are not square, which not every player respects.")
	}
	if p.Deinterlace {
		add("Interlaced frames are made progressive.",
			"The file says that each frame consists of two fields; moving edges would show combing.")
	}
}

func abs(n int) int { return max(n, -n) }

func (p *Plan) decideColours(add func(what, why string)) {
	in := p.Input
	switch {
	case p.IsStill(): // its colours are ours
		return
	case p.ToneMap:
		kind := map[string]string{"smpte2084": "PQ", "arib-std-b67": "HLG"}[in.Transfer]
		add("HDR is tone-mapped to standard dynamic range (BT.709).",
			fmt.Sprintf("The file is HDR (%s), which looks washed out on screens and players that do not support it.", cmp.Or(kind, in.Transfer, "unsaid")))
	case in.FullRange:
		add("Full-range video is converted to limited range.",
			"Many players assume limited range, whatever the file says.")
	}
	if in.PixelFormat != "yuv420p" && in.PixelFormat != "yuvj420p" {
		add("Frames are stored with 8 bits and 4:2:0 chroma subsampling.",
			fmt.Sprintf("The file uses %s, which many players cannot decode.", in.PixelFormat))
	}
}

func (p *Plan) decideRate(add func(what, why string)) {
	if p.IsStill() {
		add(fmt.Sprintf("The picture is shown in %d frames per second.", StillRate), "It does not move; players need frames to begin at any time.")
		return
	}
	rate, what := formatNumber(p.Input.FrameRate), "Every frame is kept, with its own timestamp."
	if slow := p.decideSlowSizes(add); slow == len(p.Renditions) {
		return
	} else if slow > 0 {
		what = "In the other sizes, every frame is kept, with its own timestamp."
	}
	if p.LimitRate > 0 {
		add(fmt.Sprintf("Of %s frames per second, at most %d are kept.", rate, p.LimitRate),
			"Few screens show more, and every frame costs bits. Kept frames keep their timestamps.")
		return
	}
	add(what, fmt.Sprintf("The file has %s frames per second on average; a variable frame rate stays variable.", rate))
}

func (p *Plan) decideSizes(add func(what, why string)) {
	for _, r := range p.Renditions {
		if len(r.Names) == 0 {
			continue // a later pass made it again
		}
		what := fmt.Sprintf("%s is encoded at %d × %d.", joinNames(r.Names), r.Width, r.Height)
		if len(r.Names) > 1 {
			what = fmt.Sprintf("%s share one encode of %d × %d.", joinNames(r.Names), r.Width, r.Height)
		}
		add(what, p.sizeReason(r))
	}
}

func (p *Plan) decideQuality(add func(what, why string)) {
	for _, r := range p.Renditions {
		if crf := r.CRF[H264]; len(r.Names) > 0 && crf > 0 && r.Profile.CRF > 0 {
			add(fmt.Sprintf("%s is encoded with CRF %s.", joinNames(r.Names), formatNumber(crf)), p.profileSays())
		}
	}
}

func (p *Plan) decideLimits(add func(what, why string)) {
	for _, r := range p.Renditions {
		if most := r.MaxBitrate[H264]; most > 0 && len(r.Names) > 0 {
			add(fmt.Sprintf("The picture of %s has at most %d kbit/s on average.", joinNames(r.Names), most/1000),
				fmt.Sprintf("The picture of the file has %d kbit/s (%s). More bits would not bring back what it has lost.", p.Input.Bitrate/1000, p.Input.Codec))
		}
	}
}

// sizeReason explains the size of a rendition.
func (p *Plan) sizeReason(r Rendition) string {
	source, side, wanted := min(p.Input.Width, p.Input.Height), min(r.Width, r.Height), 0
	for _, n := range r.Names {
		wanted = max(wanted, n.ShortSide())
	}
	switch { // Sizes are rounded down to even numbers, so a source may lose a line.
	case r.MaxResolution != "" && r.MaxResolution.ShortSide() < wanted:
		return fmt.Sprintf("This server is configured to make nothing larger than %s; the source is %d × %d.", r.MaxResolution, p.Input.Width, p.Input.Height)
	case r.MaxUpscale > 1 && side < wanted:
		return fmt.Sprintf("Upscaling was requested; this server is configured to enlarge a video to at most %s times its size, and the source is %d × %d.", formatNumber(r.MaxUpscale), p.Input.Width, p.Input.Height)
	case r.MaxUpscale == 1 && side < wanted:
		return fmt.Sprintf("Upscaling was requested, but this server is configured not to enlarge videos; the source is %d × %d.", p.Input.Width, p.Input.Height)
	case side > source+1:
		return fmt.Sprintf("Upscaling was requested; the source is %d × %d.", p.Input.Width, p.Input.Height)
	case wanted > source:
		return "The source is no larger; upscaling would add bytes but no detail."
	default:
		return "The name is the length of the shorter side; the longer one follows from the aspect ratio."
	}
}

func joinNames(names []Name) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}

func (p *Plan) decideEncoding(add func(what, why string)) {
	p.decideProfile(add)
	add("The outputs are H.264 in MP4, with the index at the start of the file.", "Every browser, phone and television plays that, and can start before the file is loaded.")
	if len(p.Chunks) == 1 {
		add("The video is encoded as one chunk.", "It is short, or its container has no reliable index to cut it exactly.")
		return
	}
	const shown = 5
	var starts []string
	for _, c := range p.Chunks[:min(shown, len(p.Chunks))] {
		starts = append(starts, formatNumber(p.Input.TimeBase.Seconds(c.Start-p.FirstPTS)))
	}
	if len(p.Chunks) > shown {
		starts = append(starts, "and so on")
	}
	if p.Early != nil {
		add("The small sizes are encoded before the large ones, and the first chunks are short.", "The video can then be watched while it is still being encoded.")
	}
	add(fmt.Sprintf("The video is encoded in %d chunks, which start at second %s.", len(p.Chunks), strings.Join(starts, ", ")),
		"Chunks are encoded in parallel, and a crash costs at most one of them. They start at keyframes of the source.")
}

// Title returns the usual spelling of a codec.
func (c Codec) Title() string {
	if c == H264 {
		return "H.264"
	}
	return strings.ToUpper(string(c))
}

func (p *Plan) decideAudio(add func(what, why string)) {
	a := p.Audio
	if a == nil {
		add("The outputs have no audio.", "The file has no audio track that can be decoded.")
		return
	}
	what := fmt.Sprintf("Stream %d is the audio, encoded as AAC stereo at %d kbit/s.", a.Stream, a.Bitrate/1000)
	switch {
	case a.Channels > 2:
		add(what, fmt.Sprintf("Its %d channels are mixed down: stereo plays everywhere.", a.Channels))
	case a.Channels == 1:
		add(what, "Its single channel is played on both sides.")
	default:
		add(what, "Of the audio tracks that can be decoded, the default one is used, or else the first.")
	}
	if a.Early > 0 {
		add(fmt.Sprintf("The first %s of the audio are dropped.", Lasting(a.Early.Seconds())), "They come before the first frame, at which the video starts.")
	}
}

func (p *Plan) decideThumbnails(add func(what, why string)) {
	if p.IsStill() { // all of them show the one picture
		return
	}
	for i, t := range p.Thumbnails {
		why := "That is the frame on screen at this time."
		if t.Seconds > p.Duration.Seconds() {
			why = "The video is shorter; its last frame is used."
		}
		add(fmt.Sprintf("Thumbnail %d, requested at second %s, is the frame at second %s.",
			i, formatNumber(t.Seconds), formatNumber(p.Input.TimeBase.Seconds(t.PTS-p.FirstPTS))), why)
	}
}

// formatNumber writes a number with at most three decimals.
func formatNumber(x float64) string {
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
}
