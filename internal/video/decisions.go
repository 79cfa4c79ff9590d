package video

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decision is one thing that was decided about a film, and why, in sentences for
// a person.
type Decision struct {
	What string
	Why  string
}

// Decisions tells what a plan does with its file, in the order in which a
// picture meets it.
func (p *Plan) Decisions() []Decision {
	var all []Decision
	add := func(what, why string) { all = append(all, Decision{what, why}) }
	p.decideStream(add)
	p.decideShape(add)
	p.decideColours(add)
	p.decideRate(add)
	p.decideSizes(add)
	p.decideEncoding(add)
	p.decideSound(add)
	p.decideThumbnails(add)
	add("Titles, places, dates, chapters, subtitles and other data of the file are left out.",
		"They may tell more about the person behind the camera than a viewer should know.")
	return all
}

func (p *Plan) decideStream(add func(what, why string)) {
	add(fmt.Sprintf("Stream %d of the file is shown.", p.Input.VideoStream),
		"Of the moving pictures that can be decoded, the one marked as default is taken, or else the largest.")
}

func (p *Plan) decideShape(add func(what, why string)) {
	in := p.Input
	if in.Rotation != 0 {
		add(fmt.Sprintf("The picture is turned by %d degrees clockwise.", in.Rotation),
			"The file says that its pictures are stored turned; players that ignore this would show them so.")
	}
	width, height := in.CodedWidth, in.CodedHeight
	if in.Rotation%180 != 0 {
		width, height = height, width
	}
	// Sizes are whole numbers; what is less than a pixel off is not a shape.
	if abs(width-in.Width) > 1 || abs(height-in.Height) > 1 {
		add(fmt.Sprintf("Pixels are made square: %d × %d become %d × %d.", width, height, in.Width, in.Height),
			"The file's pixels are not square, which not every player respects.")
	}
	if p.Deinterlace {
		add("Interlaced frames are made progressive.",
			"The file says that its frames are made of two half pictures; moving edges would look like combs.")
	}
}

func abs(n int) int { return max(n, -n) }

func (p *Plan) decideColours(add func(what, why string)) {
	in := p.Input
	switch {
	case p.ToneMap:
		kind := map[string]string{"smpte2084": "PQ", "arib-std-b67": "HLG"}[in.Transfer]
		add("HDR is brought to the brightness and colours of ordinary screens (BT.709).",
			fmt.Sprintf("The file is HDR (%s), which looks pale on screens that do not expect it.", cmp.Or(kind, in.Transfer, "unsaid")))
	case in.FullRange:
		add("Full-range brightness is brought to the limited range of television.",
			"Many players expect that, whatever a file says of itself.")
	}
	if in.PixelFormat != "yuv420p" && in.PixelFormat != "yuvj420p" {
		add("Pictures are stored with 8 bits and colours at half the resolution (4:2:0).",
			fmt.Sprintf("The file has %s, which many players cannot decode.", in.PixelFormat))
	}
}

func (p *Plan) decideRate(add func(what, why string)) {
	if p.LimitRate > 0 {
		add(fmt.Sprintf("Of %s frames a second, at most %d are kept.", short(p.Input.FrameRate), p.LimitRate),
			"Few screens show more, and every frame costs bits. None is moved in time.")
		return
	}
	add("Every frame is kept at its own time.",
		fmt.Sprintf("The file has %s frames a second on average; a variable rate stays variable.", short(p.Input.FrameRate)))
}

func (p *Plan) decideSizes(add func(what, why string)) {
	source := min(p.Input.Width, p.Input.Height)
	for _, r := range p.Renditions {
		if len(r.Names) == 0 {
			continue // a later round made it again
		}
		what := fmt.Sprintf("%s is encoded at %d × %d.", join(r.Names), r.Width, r.Height)
		if len(r.Names) > 1 {
			what = fmt.Sprintf("%s share one encode of %d × %d.", join(r.Names), r.Width, r.Height)
		}
		side, wanted := min(r.Width, r.Height), 0
		for _, n := range r.Names {
			wanted = max(wanted, n.ShortSide())
		}
		// Even sizes are rounded down, so a source may lose a line or two.
		switch {
		case side > source+1:
			add(what, fmt.Sprintf("Blowing up was asked for; the film itself is %d × %d.", p.Input.Width, p.Input.Height))
		case wanted > source:
			add(what, "The film is no larger, and blowing it up would add bytes but nothing to see.")
		default:
			add(what, "The name is the length of the shorter side; the longer one follows from the film's shape.")
		}
	}
}

func join(names []Name) string {
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
	switch p.Codec {
	case "", H264:
		add("The outputs are H.264 in MP4 with the index in front.", "Every browser, phone and television plays that, and can begin before the file is loaded.")
	default:
		add(fmt.Sprintf("The outputs are %s in MP4 with the index in front.", codecName(p.Codec)), "This server is set to it. Not every player can decode it.")
	}
	for _, r := range p.Renditions {
		if len(r.Names) > 0 && r.Codec != "" && r.Codec != cmp.Or(p.Codec, H264) {
			add(fmt.Sprintf("%s, made before, stays %s.", join(r.Names), codecName(r.Codec)), "This server was set to that when it was made.")
		}
	}
	if len(p.Chunks) == 1 {
		add("The film is encoded in one piece.", "It is short, or its container has no index that can be trusted to cut it exactly.")
		return
	}
	const shown = 5
	var starts []string
	for _, c := range p.Chunks[:min(shown, len(p.Chunks))] {
		starts = append(starts, short(p.Input.TimeBase.Seconds(c.Start-p.FirstPTS)))
	}
	if len(p.Chunks) > shown {
		starts = append(starts, "and so on")
	}
	add(fmt.Sprintf("The film is encoded in %d pieces, which begin at second %s.", len(p.Chunks), strings.Join(starts, ", ")),
		"Pieces can be encoded at the same time, and a crash costs one of them at most. They begin at keyframes of the file.")
}

// codecName is what people call a codec.
func codecName(c Codec) string {
	if c == H264 {
		return "H.264"
	}
	return strings.ToUpper(string(c))
}

func (p *Plan) decideSound(add func(what, why string)) {
	a := p.Audio
	if a == nil {
		add("The outputs have no sound.", "The file has no sound track that can be decoded.")
		return
	}
	what := fmt.Sprintf("Stream %d is the sound, as AAC stereo of %d kbit/s.", a.Stream, a.Bitrate/1000)
	switch {
	case a.Channels > 2:
		add(what, fmt.Sprintf("Its %d channels are mixed down: stereo plays everywhere.", a.Channels))
	case a.Channels == 1:
		add(what, "Its one channel is heard on both sides.")
	default:
		add(what, "Of the sound tracks that can be decoded, the one marked as default is taken, or else the first.")
	}
	if a.Early > 0 {
		add(fmt.Sprintf("The first %s of the sound are left out.", Lasting(a.Early.Seconds())), "They come before the first picture, with which the film begins.")
	}
}

func (p *Plan) decideThumbnails(add func(what, why string)) {
	for i, t := range p.Thumbnails {
		why := "That is the frame on the screen at this time."
		if t.Seconds > p.Duration.Seconds() {
			why = "The film ends before; its last frame is taken."
		}
		add(fmt.Sprintf("Thumbnail %d, asked for at second %s, is the frame of second %s.",
			i, short(t.Seconds), short(p.Input.TimeBase.Seconds(t.PTS-p.FirstPTS))), why)
	}
}

// short writes a number with at most three decimals.
func short(x float64) string {
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
}
