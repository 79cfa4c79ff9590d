package colour

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/video"
)

const (
	// lookFile is the table of colours in a task's folder, which is where
	// ffmpeg runs. A table does with one look what would take a chain of
	// filters, twice as fast, and can say what no filter of ffmpeg can.
	lutFile = "lut.cube"
	// lookSteps is the size of the table in each of its three dimensions. In
	// between ffmpeg interpolates; twice the steps change no pixel visibly.
	lutSize = 49
)

// writeLook puts the table of colours into the task's folder that the filters
// of this plan refer to, if they do.
func WriteLUT(dir string, in video.Input) error {
	f := Transform(in)
	if f == nil {
		return nil
	}
	file, err := os.Create(filepath.Join(dir, lutFile))
	if err != nil {
		return fmt.Errorf("write table of colours: %w", err)
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	fmt.Fprintf(w, "LUT_3D_SIZE %d\n", lutSize)
	at := func(step int) float64 { return float64(step) / (lutSize - 1) }
	for b := range lutSize {
		for g := range lutSize {
			for r := range lutSize {
				signal := RGB{at(r), at(g), at(b)}
				if in.Dolby != nil { // its components travel as green, blue and red
					signal = RGB{at(g), at(b), at(r)}
				}
				out := f(signal)
				fmt.Fprintf(w, "%.6f %.6f %.6f\n", out[0], out[1], out[2])
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write table of colours: %w", err)
	}
	return nil
}
