package stream

import "testing"

func TestRatesArePlain(t *testing.T) {
	t.Parallel()
	for measured, want := range map[float64]string{
		30: "30", 25: "25", 24: "24", 60: "60", 100 / 3.999: "25", 120 / 4.004: "30000/1001", 120 / 4.003: "30000/1001",
		96 / 4.004: "24000/1001", 240 / 4.004: "60000/1001", 30.0075: "30", 29.9701: "30000/1001", 12.5: "25/2",
		17.3: "173/10", 0.5: "1/2", 0.0001: "1/1000", 27: "27",
	} {
		if got := newRate(measured).String(); got != want {
			t.Errorf("%f frames a second are told as %s, want %s", measured, got, want)
		}
	}
}
