package colour

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/video"
)

const (
	// lutFile is the 3D LUT in a task's folder, which is ffmpeg's working
	// directory.
	lutFile = "lut.cube"
	// lutSize is the size of the table in each of its three dimensions. ffmpeg
	// interpolates in between; twice the size changes no pixel visibly.
	lutSize = 49
)

// WriteLUT writes the 3D LUT that Filters refers to into dir, if the source
// needs one.
func WriteLUT(dir string, in video.Input) error {
	f := Transform(in)
	if f == nil {
		return nil
	}
	file, err := os.Create(filepath.Join(dir, lutFile))
	if err != nil {
		return fmt.Errorf("write the 3D LUT: %w", err)
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	fmt.Fprintf(w, "LUT_3D_SIZE %d\n", lutSize)
	at := func(step int) float64 { return float64(step) / (lutSize - 1) }
	for b := range lutSize {
		for g := range lutSize {
			for r := range lutSize {
				signal := RGB{at(r), at(g), at(b)}
				if in.Dolby != nil { // its components arrive as green, blue and red
					signal = RGB{at(g), at(b), at(r)}
				}
				out := f(signal)
				fmt.Fprintf(w, "%.6f %.6f %.6f\n", out[0], out[1], out[2])
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the 3D LUT: %w", err)
	}
	return nil
}
