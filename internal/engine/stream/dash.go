package stream

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// The types below are the parts of an MPD (ISO/IEC 23009-1) that we use.
type mpd struct {
	XMLName  xml.Name  `xml:"urn:mpeg:dash:schema:mpd:2011 MPD"`
	Profiles string    `xml:"profiles,attr"`
	Type     string    `xml:"type,attr"`
	Duration string    `xml:"mediaPresentationDuration,attr"`
	Buffer   string    `xml:"minBufferTime,attr"`
	Start    string    `xml:"availabilityStartTime,attr,omitempty"`
	Written  string    `xml:"publishTime,attr,omitempty"`
	Update   string    `xml:"minimumUpdatePeriod,attr,omitempty"`
	Delay    string    `xml:"suggestedPresentationDelay,attr,omitempty"`
	Period   period    `xml:"Period"`
	Clock    *property `xml:"UTCTiming"`
}

type period struct {
	ID    string          `xml:"id,attr,omitempty"`
	Start string          `xml:"start,attr,omitempty"`
	Sets  []adaptationSet `xml:"AdaptationSet"`
}

// Live is what a manifest says of a video that is still being encoded.
type Live struct {
	Began  time.Time // when it could be played
	Now    time.Time
	Length time.Duration // of the whole video
}

// updatePeriod is how often players ask for the manifest of a video that grows.
const updatePeriod = 3 * time.Second

// live makes a manifest one of a video that grows. To a player it is a recording of
// something that began so long ago that all of the video is in the past; what is
// listed is there. Players begin with the newest part of such a recording, so they
// are told to stay as far behind as the video is long: at its beginning.
func (m *mpd) live(l *Live) {
	length := seconds(l.Length.Seconds())
	m.Type, m.Duration, m.Delay = "dynamic", length, length
	m.Start = l.Began.Add(-l.Length).UTC().Format(time.RFC3339)
	m.Written = l.Now.UTC().Format(time.RFC3339)
	m.Update = seconds(updatePeriod.Seconds())
	m.Period.ID, m.Period.Start = "0", "PT0S"
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
	Label           string           `xml:"Label,omitempty"`
	Role            *property        `xml:"Role"`
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
	m := mpd{Profiles: "urn:mpeg:dash:profile:isoff-live:2011", Type: "static", Buffer: "PT4S"}
	var length float64
	codecs := map[string]int{} // the set of each codec: players switch within a set only
	for _, t := range p.Video {
		set, there := codecs[t.codec()]
		if !there {
			set, codecs[t.codec()] = len(m.Period.Sets), len(m.Period.Sets)
			m.Period.Sets = append(m.Period.Sets, adaptationSet{ContentType: "video", MimeType: "video/mp4", Aligned: true, StartWithSAP: 1, Priority: priority(p, t)})
		}
		s := t.stats()
		r := represent(t, s)
		r.Width, r.Height, r.FrameRate = t.Width, t.Height, s.rate.String()
		m.Period.Sets[set].Representations = append(m.Period.Sets[set].Representations, r)
		length = max(length, s.length)
	}
	if t := p.Audio; t != nil {
		s := t.stats()
		r := represent(*t, s)
		r.SamplingRate, r.Channels = t.Timescale, &property{"urn:mpeg:dash:23003:3:audio_channel_configuration:2011", strconv.Itoa(t.Channels)}
		m.Period.Sets = append(m.Period.Sets, adaptationSet{ContentType: "audio", MimeType: "audio/mp4", Aligned: true, StartWithSAP: 1, Representations: []representation{r}})
		length = max(length, s.length)
	}
	for _, t := range p.Text {
		m.Period.Sets = append(m.Period.Sets, textSet(t))
	}
	m.Duration = seconds(length)
	if p.Live != nil {
		m.live(p.Live)
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
	if p.severalCodecs() && t.codec() != h264 {
		return 2
	}
	return 0 // not written
}

func represent(t Track, s stats) representation {
	template := segmentTemplate{Timescale: t.Timescale, Init: initFile("$RepresentationID$"), Media: "$RepresentationID$-$Number$.m4s"}
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
