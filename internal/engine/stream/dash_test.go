package stream

import (
	"regexp"
	"testing"
)

func TestDASHManifest(t *testing.T) {
	t.Parallel()
	small := readIndex(t, makeRendition(t, "64x36", 13.12, withSound(9)...))
	silent := readIndex(t, makeRendition(t, "256x144", 0.04))
	bandwidth := regexp.MustCompile(`bandwidth="\d+"`)
	tests := []struct {
		name  string
		films []Rendition
		want  string
	}{
		{"with audio", []Rendition{{"144p", small}}, `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT13.120000S" minBufferTime="PT4S">
 <Period>
  <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
   <Representation id="144p" bandwidth="?" codecs="avc1.4d400a" width="64" height="36" frameRate="25">
    <SegmentTemplate timescale="12800" initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="0">
     <SegmentTimeline>
      <S t="0" d="51200" r="2"></S>
      <S d="14336"></S>
     </SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
  <AdaptationSet contentType="audio" mimeType="audio/mp4" segmentAlignment="true" startWithSAP="1">
   <Representation id="audio" bandwidth="?" codecs="mp4a.40.2" audioSamplingRate="48000">
    <AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2"></AudioChannelConfiguration>
    <SegmentTemplate timescale="48000" initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="0">
     <SegmentTimeline>
      <S t="0" d="192512"></S>
      <S d="191488"></S>
      <S d="48000"></S>
     </SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
 </Period>
</MPD>
`},
		{"a single silent frame, under two names", []Rendition{{"144p", silent}, {"720p", silent}}, `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT0.040000S" minBufferTime="PT4S">
 <Period>
  <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
   <Representation id="144p" bandwidth="?" codecs="avc1.4d400c" width="256" height="144" frameRate="25">
    <SegmentTemplate timescale="12800" initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="0">
     <SegmentTimeline>
      <S t="0" d="512"></S>
     </SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
 </Period>
</MPD>
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := DASHManifest(Present(tt.films))
			if err != nil {
				t.Fatal(err)
			}
			if got := bandwidth.ReplaceAllString(string(text), `bandwidth="?"`); got != tt.want {
				t.Errorf("the manifest is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
