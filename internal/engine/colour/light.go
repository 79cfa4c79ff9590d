package colour

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spool-video/spool/internal/video"
)

// lightMetadata is what ffprobe prints of the light metadata of a frame: fractions, such as "35400/50000".
type lightMetadata struct {
	Type    string `json:"side_data_type"`
	RedX    string `json:"red_x"`
	RedY    string `json:"red_y"`
	GreenX  string `json:"green_x"`
	GreenY  string `json:"green_y"`
	BlueX   string `json:"blue_x"`
	BlueY   string `json:"blue_y"`
	WhiteX  string `json:"white_point_x"`
	WhiteY  string `json:"white_point_y"`
	Darkest string `json:"min_luminance"`
	Peak    string `json:"max_luminance"`
	Most    int    `json:"max_content"`
	Average int    `json:"max_average"`
}

// ParseLight reads ffprobe's JSON of the first frame. What is missing or makes no sense is nil.
func ParseLight(answer []byte) (m *video.Mastering, l *video.LightLevel) {
	var frames struct {
		Frames []struct {
			SideData []json.RawMessage `json:"side_data_list"`
		} `json:"frames"`
	}
	if json.Unmarshal(answer, &frames) != nil || len(frames.Frames) == 0 {
		return nil, nil
	}
	for _, raw := range frames.Frames[0].SideData {
		var d lightMetadata
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		switch d.Type {
		case "Mastering display metadata":
			m = d.mastering()
		case "Content light level metadata":
			if level := (video.LightLevel{Max: d.Most, Average: d.Average}); level.Max > 0 && level.Max <= math.MaxUint16 && level.Average >= 0 && level.Average <= math.MaxUint16 {
				l = &level
			}
		}
	}
	return m, l
}

// mastering returns nil unless all values are there and possible.
func (d lightMetadata) mastering() *video.Mastering {
	m := video.Mastering{Max: fraction(d.Peak), Min: fraction(d.Darkest)}
	good := m.Max > 0 && m.Max <= 10_000 && m.Min >= 0 && m.Min < m.Max
	for _, c := range []struct {
		to   *[2]float64
		x, y string
	}{{&m.Red, d.RedX, d.RedY}, {&m.Green, d.GreenX, d.GreenY}, {&m.Blue, d.BlueX, d.BlueY}, {&m.White, d.WhiteX, d.WhiteY}} {
		*c.to = [2]float64{fraction(c.x), fraction(c.y)}
		good = good && c.to[0] > 0 && c.to[0] < 1 && c.to[1] > 0 && c.to[1] < 1
	}
	if !good {
		return nil
	}
	return &m
}

// fraction returns NaN for what is none, which no comparison takes for good.
func fraction(text string) float64 {
	var numerator, denominator float64
	if n, err := fmt.Sscanf(text, "%g/%g", &numerator, &denominator); n != 2 || err != nil || denominator == 0 {
		return math.NaN()
	}
	return numerator / denominator
}
