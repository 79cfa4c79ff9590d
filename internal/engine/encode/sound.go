package encode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// Speech writes the sound of a finished rendition, which is the job's source, for a transcriber. It returns the path of a
// WAV file. ErrNoAudio means that the rendition has no sound.
func (enc *Encoder) Speech(ctx context.Context, job ffmpeg.Job, length time.Duration) (string, error) {
	const name = "speech.wav"
	path := filepath.Join(job.OutDir, name)
	ctx, cancel := enc.withDeadline(ctx, length)
	defer cancel()
	most := video.SpeechBytes(length + length/10 + time.Minute)
	may := sandbox.Policy{Read: []string{job.Source}, WriteDir: job.OutDir, Memory: 1 << 30, FileSize: most, Space: 2 * most, Files: 4, Threads: ffmpeg.MaxThreads(1)}
	args := slices.Concat(ffmpeg.RunArgs(), ffmpeg.RenditionInput, []string{"-i", ffmpeg.FileURL(job.Source), "-map", "0:a:0?", "-vn",
		"-ac", "1", "-ar", "16000", "-c:a", "pcm_s16le", "-flags", "+bitexact"}, ffmpeg.NoMetadata, []string{"-f", "wav", "file:" + name})
	stderr, err := enc.run.Encode(ctx, job, may, args, func(float64) {})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return "", ours
	}
	if info, statErr := os.Stat(path); statErr != nil || info.Size() < 100 {
		return "", errors.Join(ErrNoAudio, err)
	}
	return path, err
}
