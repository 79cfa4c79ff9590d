package video

import "testing"

func TestPlaceOfAWatermark(t *testing.T) {
	t.Parallel()
	type place struct{ x, y, width, height int }
	tests := []struct {
		name          string
		mark          Watermark
		width, height int
		want          place
	}{
		{"the default", Watermark{Position: "bottom-right", Width: 0.15, Margin: 0.03, Aspect: 2}, 1280, 720, place{1050, 586, 192, 96}},
		{"in a tall film", Watermark{Position: "bottom-right", Width: 0.15, Margin: 0.03, Aspect: 2}, 720, 1280, place{590, 1204, 108, 54}},
		{"top left without a margin", Watermark{Position: "top-left", Width: 0.5, Aspect: 4}, 640, 360, place{0, 0, 320, 80}},
		{"at the top", Watermark{Position: "top", Width: 0.5, Margin: 0.1, Aspect: 4}, 640, 360, place{160, 64, 320, 80}},
		{"in the middle", Watermark{Position: "center", Width: 0.5, Aspect: 4}, 640, 360, place{160, 140, 320, 80}},
		{"over everything", Watermark{Position: "center", Width: 1, Aspect: 16.0 / 9}, 640, 360, place{0, 0, 640, 360}},
		{"too tall", Watermark{Position: "left", Width: 0.5, Margin: 0.1, Aspect: 0.1}, 640, 360, place{64, 64, 24, 232}},
		{"nothing but a margin", Watermark{Position: "right", Width: 1, Margin: 0.5, Aspect: 1}, 640, 360, place{320, 180, 2, 2}},
		{"a tiny film", Watermark{Position: "bottom-right", Width: 0.02, Margin: 0.03, Aspect: 100}, 16, 16, place{14, 14, 2, 2}},
	}
	for _, tt := range tests {
		var got place
		got.x, got.y, got.width, got.height = tt.mark.Place(tt.width, tt.height)
		if got != tt.want {
			t.Errorf("%s: %+v; want %+v", tt.name, got, tt.want)
		}
		if got.x+got.width > tt.width || got.y+got.height > tt.height {
			t.Errorf("%s: %+v is not inside of %d × %d", tt.name, got, tt.width, tt.height)
		}
	}
}

func TestChoiceOfAWatermark(t *testing.T) {
	t.Parallel()
	bad := WatermarkChoice{ID: "mine", Position: new(Position("middle")), Width: new(0.01), Margin: new(0.6), Opacity: new(-0.1)}
	if faults := bad.Check("watermark"); len(faults) != 5 || faults[1].Field != "watermark.position" {
		t.Errorf("faults = %v; want one for each field", faults)
	}
	good := WatermarkChoice{ID: "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", Opacity: new(0.0)}
	if faults := good.Check("watermark"); faults != nil {
		t.Errorf("faults = %v; want none", faults)
	}
	if w := good.Watermark(2); w.Position != "bottom-right" || w.Width != 0.15 || w.Margin != 0.03 || w.Opacity != 0 {
		t.Errorf("defaults: %+v", w)
	}
}
