package stream

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
)

// The types below are the parts of an MPD (ISO/IEC 23009-1) that we use.
type mpd struct {
	XMLName  xml.Name        `xml:"urn:mpeg:dash:schema:mpd:2011 MPD"`
	Profiles string          `xml:"profiles,attr"`
	Type     string          `xml:"type,attr"`
	Duration string          `xml:"mediaPresentationDuration,attr"`
	Buffer   string          `xml:"minBufferTime,attr"`
	Sets     []adaptationSet `xml:"Period>AdaptationSet"`
}

type adaptationSet struct {
	ContentType     string           `xml:"contentType,attr"`
	MimeType        string           `xml:"mimeType,attr"`
	Language        string           `xml:"lang,attr,omitempty"`
	Aligned         bool             `xml:"segmentAlignment,attr,omitempty"`
	StartWithSAP    int              `xml:"startWithSAP,attr,omitempty"`
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
			set, codecs[t.codec()] = len(m.Sets), len(m.Sets)
			m.Sets = append(m.Sets, adaptationSet{ContentType: "video", MimeType: "video/mp4", Aligned: true, StartWithSAP: 1})
		}
		s := t.stats()
		r := represent(t, s)
		r.Width, r.Height, r.FrameRate = t.Width, t.Height, s.rate.String()
		m.Sets[set].Representations = append(m.Sets[set].Representations, r)
		length = max(length, s.length)
	}
	if t := p.Audio; t != nil {
		s := t.stats()
		r := represent(*t, s)
		r.SamplingRate, r.Channels = t.Timescale, &property{"urn:mpeg:dash:23003:3:audio_channel_configuration:2011", strconv.Itoa(t.Channels)}
		m.Sets = append(m.Sets, adaptationSet{ContentType: "audio", MimeType: "audio/mp4", Aligned: true, StartWithSAP: 1, Representations: []representation{r}})
		length = max(length, s.length)
	}
	for _, t := range p.Text {
		m.Sets = append(m.Sets, textSet(t))
	}
	m.Duration = fmt.Sprintf("PT%.6fS", length)
	text, err := xml.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return slices.Concat([]byte(xml.Header), text, []byte("\n")), nil
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
