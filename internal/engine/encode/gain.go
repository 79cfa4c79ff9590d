package encode

import (
	"fmt"
	"path/filepath"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

const (
	// enlargedEvery is how many frames there are for one that is enlarged. Enlarging all of them would
	// make measuring a third more expensive, and frames that follow each other look alike.
	enlargedEvery = 8
	// minGain is how much more SSIM a rendition must have than the next smaller one, enlarged. A
	// smaller difference cannot be seen.
	minGain = 0.003
)

// enlarge returns the end of the filters of file i, which enlarge some of its frames to the size of the file
// before it, and compare them with the source.
func enlarge(p *video.Plan, files []RenditionFile, sample, i int) string {
	to := p.Renditions[files[i-1].Rendition]
	return fmt.Sprintf(",split[g%[1]d][h%[1]d];[g%[1]d]select='not(mod(n,%[2]d))',scale=%[3]d:%[4]d:flags=bicubic,setsar=1[s%[1]d]"+
		";[s%[1]d][u%[5]d]ssim=stats_file=%[6]s:shortest=1[e%[1]d];[h%[1]d]null", i, enlargedEvery, to.Width, to.Height, i-1, statsFile("enlarged", sample, i-1))
}

// gain compares a rendition with the next smaller one, enlarged, by the same frames.
type gain struct {
	frames        int
	own, enlarged float64 // sums of SSIM
}

// read adds the numbers of one file in one sample.
func (g *gain) read(job ffmpeg.Job, sample, file int) error {
	own, err := readStats(filepath.Join(job.OutDir, statsFile("ssim", sample, file)), "Y")
	if err != nil {
		return err
	}
	enlarged, err := readStats(filepath.Join(job.OutDir, statsFile("enlarged", sample, file)), "Y")
	if err != nil {
		return err
	}
	for i, similar := range enlarged {
		if n := i * enlargedEvery; n < len(own) {
			g.frames, g.own, g.enlarged = g.frames+1, g.own+own[n], g.enlarged+similar
		}
	}
	return nil
}

// isNone reports whether the difference is too small to be seen.
func (g *gain) isNone() bool {
	return g.frames > 0 && g.own-g.enlarged < minGain*float64(g.frames)
}

// firstName returns the first of the names that share a rendition, which is "" if all were deleted.
func firstName(names []video.Name) video.Name {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
