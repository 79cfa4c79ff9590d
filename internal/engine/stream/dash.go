package stream

import (
	"encoding/xml"
	"fmt"
	"slices"
	"time"
)

// The types below are the parts of an MPD (ISO/IEC 23009-1) that we use.
type mpd struct {
	XMLName  xml.Name  `xml:"urn:mpeg:dash:schema:mpd:2011 MPD"`
	Profiles string    `xml:"profiles,attr"`
	Type     string    `xml:"type,attr"`
	Duration string    `xml:"mediaPresentationDuration,attr,omitempty"`
	Buffer   string    `xml:"minBufferTime,attr"`
	Start    string    `xml:"availabilityStartTime,attr,omitempty"`
	Written  string    `xml:"publishTime,attr,omitempty"`
	Update   string    `xml:"minimumUpdatePeriod,attr,omitempty"`
	Delay    string    `xml:"suggestedPresentationDelay,attr,omitempty"`
	Period   period    `xml:"Period"`
	Clock    *property `xml:"UTCTiming"`
}

// period is the only one. Its name and start are the same while the video grows and
// afterwards: to dash.js another name is another period, so that it plays what it has
// of the first and stops there.
type period struct {
	ID    string          `xml:"id,attr"`
	Start string          `xml:"start,attr"`
	Sets  []adaptationSet `xml:"AdaptationSet"`
}

// Live is what a manifest says of a video that is still being encoded.
type Live struct {
	Began time.Time // when it could be played
	Now   time.Time
}

const (
	// updatePeriod is how often players ask for the manifest of a video that grows.
	updatePeriod = 3 * time.Second
	// edgeSlack is how far the clock may be ahead of what is there, and startSlack how
	// long a player may take from there to its decision where to begin. Together they
	// must stay well below the 10 s that Shaka Player loads in advance.
	edgeSlack  = time.Second
	startSlack = 3 * time.Second
)

// live makes a manifest one of a video that grows. To a player it is a broadcast that
// began when the video could be played, and that stands still while nothing is added.
// Players begin with the newest part of a broadcast, so they are told to stay as far
// behind as there is something: at the beginning. They must not be told more than that,
// because Shaka Player loads nothing that is nearer to its idea of the newest part, which
// goes on with its clock. So the manifest has no duration, either, where that would end.
func (m *mpd) live(l *Live, there time.Duration) {
	start := l.Began
	if latest := l.Now.Add(-there - edgeSlack); start.Before(latest) {
		start = latest
	}
	m.Type, m.Duration = "dynamic", ""
	m.Start = start.UTC().Format(time.RFC3339)
	m.Written = l.Now.UTC().Format(time.RFC3339)
	m.Update = seconds(updatePeriod.Seconds())
	m.Delay = seconds((there + edgeSlack + startSlack).Seconds())
	m.Clock = &property{"urn:mpeg:dash:utc:direct:2014", m.Written}
}

func seconds(n float64) string { return fmt.Sprintf("PT%.6fS", n) }

type adaptationSet struct {
	ContentType     string           `xml:"contentType,attr"`
	MimeType        string           `xml:"mimeType,attr"`
	Language        string           `xml:"lang,attr,omitempty"`
	Aligned         bool             `xml:"segmentAlignment,attr,omitempty"`
	StartWithSAP    int              `xml:"startWithSAP,attr,omitempty"`
	Priority        int              `xml:"selectionPriority,attr,omitempty"`
	Essential       []property       `xml:"EssentialProperty"`
	Label           string           `xml:"Label,omitempty"`
	Roles           []property       `xml:"Role"`
	Representations []representation `xml:"Representation"`
}

type representation struct {
	ID           string           `xml:"id,attr"`
	Bandwidth    int64            `xml:"bandwidth,attr"`
	Codecs       string           `xml:"codecs,attr,omitempty"`
	Width        int              `xml:"width,attr,omitempty"`
	Height       int              `xml:"height,attr,omitempty"`
	FrameRate    string           `xml:"frameRate,attr,omitempty"`
	SamplingRate int64            `xml:"audioSamplingRate,attr,omitempty"`
	Channels     *property        `xml:"AudioChannelConfiguration"`
	File         string           `xml:"BaseURL,omitempty"` // of a text, which has no segments
	Template     *segmentTemplate `xml:"SegmentTemplate"`
}

type property struct {
	Scheme string `xml:"schemeIdUri,attr"`
	Value  string `xml:"value,attr"`
}

type segmentTemplate struct {
	Timescale   int64         `xml:"timescale,attr"`
	Init        string        `xml:"initialization,attr"`
	Media       string        `xml:"media,attr"`
	StartNumber int           `xml:"startNumber,attr"`
	Offset      int64         `xml:"presentationTimeOffset,attr,omitempty"`
	Timeline    []timelineRun `xml:"SegmentTimeline>S"`
}

// timelineRun is a segment, and how many more of the same length follow.
type timelineRun struct {
	Start   *int64 `xml:"t,attr"`
	Length  int64  `xml:"d,attr"`
	Repeats int    `xml:"r,attr,omitempty"`
}

// DASHManifest is MasterPlaylist and each media playlist in one, for DASH
// players. The segments are the same.
func DASHManifest(p Presentation) ([]byte, error) {
	m := mpd{Profiles: "urn:mpeg:dash:profile:isoff-live:2011", Type: "static", Buffer: "PT4S", Period: period{ID: "0", Start: seconds(0)}}
	var length float64
	codecs := map[string]int{} // the set of each codec: players switch within a set only
	for _, t := range p.Video {
		set, there := codecs[t.codec()]
		if !there {
			set, codecs[t.codec()] = len(m.Period.Sets), len(m.Period.Sets)
			m.Period.Sets = append(m.Period.Sets, adaptationSet{ContentType: "video", MimeType: "video/mp4", Aligned: true, StartWithSAP: 1, Priority: priority(p, t), Essential: t.light()})
		}
		s := t.stats()
		r := represent(p, t, s)
		r.Width, r.Height, r.FrameRate = t.Width, t.Height, s.rate.String()
		m.Period.Sets[set].Representations = append(m.Period.Sets[set].Representations, r)
		length = max(length, s.length)
	}
	for i := range p.Audio {
		set, of := soundSet(p, &p.Audio[i])
		m.Period.Sets = append(m.Period.Sets, set)
		length = max(length, of.length)
	}
	for _, t := range p.Text {
		m.Period.Sets = append(m.Period.Sets, textSet(p.Prefix, t))
	}
	m.Duration = seconds(length)
	if p.Live != nil {
		m.live(p.Live, time.Duration(length*float64(time.Second)))
	}
	text, err := xml.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return slices.Concat([]byte(xml.Header), text, []byte("\n")), nil
}

// priority has players that can decode a better codec choose it, although its bitrates
// are lower. The default is 1.
func priority(p Presentation, t Track) int {
	if p.severalCodecs() && t.preference() > 0 {
		return 1 + t.preference()
	}
	return 0 // not written
}

func represent(p Presentation, t Track, s stats) representation {
	template := segmentTemplate{
		Timescale: t.Timescale, Init: p.Prefix + initFile("$RepresentationID$"), Media: p.Prefix + "$RepresentationID$-$Number$.m4s",
		StartNumber: t.First, Offset: p.beginMicros() * t.Timescale / 1e6,
	}
	for i, g := range t.Segments {
		length := g.End - g.Start
		if i > 0 && template.Timeline[len(template.Timeline)-1].Length == length {
			template.Timeline[len(template.Timeline)-1].Repeats++
			continue
		}
		run := timelineRun{Length: length}
		if i == 0 {
			run.Start = &g.Start
		}
		template.Timeline = append(template.Timeline, run)
	}
	return representation{ID: t.Name, Bandwidth: s.peak, Codecs: codecList(t.Codecs), Template: &template}
}
