package hostile

import (
	"bytes"
	"testing"
)

func TestMutantsCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	seeds := []seed{{"tiny", []byte("x")}, {"text", []byte("moov and mdat")}, {"long", bytes.Repeat([]byte("trakmdia\x00\x00\x00\x08"), 1000)}}
	list := []byte(hls("/other.mp4"))
	different := map[string]bool{}
	const films = 2000
	for n := range uint64(films) {
		film, how := mutant(1, n, seeds, list)
		again, howAgain := mutant(1, n, seeds, list)
		if !bytes.Equal(film, again) || how != howAgain {
			t.Fatalf("mutant %d is another film the second time: %s, %s", n, how, howAgain)
		}
		if len(film) == 0 {
			t.Errorf("mutant %d (%s) is empty", n, how)
		}
		different[string(film)] = true
	}
	if len(different) < films/2 {
		t.Errorf("%d films are %d different ones", films, len(different))
	}
	if other, _ := mutant(2, 0, seeds, list); different[string(other)] && len(other) > 100 {
		t.Error("another run makes the same films")
	}
}
