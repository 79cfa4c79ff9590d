package encode

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// closedSeconds is how much of a video is searched for closed captions (CEA-608 and 708),
// which broadcasters hide in the frames. All of it has to be decoded to read them.
const closedSeconds = 10

// closedSearchArgs asks what the first frames carry beside their pictures.
func closedSearchArgs(job ffmpeg.Job, p *video.Plan) []string {
	return slices.Concat([]string{"-v", "error", "-hide_banner", "-max_alloc", "268435456"}, ffmpeg.InputArgs(), []string{
		"-select_streams", strconv.Itoa(p.Input.VideoStream), "-read_intervals", fmt.Sprintf("%%+%d", closedSeconds),
		"-show_entries", "frame_side_data=side_data_type", "-of", "csv=p=0", "-i", ffmpeg.FileURL(job.Source)})
}

// closedArgs writes the closed captions as WebVTT. Only the filter that is a source of frames
// separates them; it opens the file itself, with the same restrictions as elsewhere.
// Input.RawClock is not needed: a clock that was reset jumps, and MayHaveClosedCaptions leaves such sources out.
func closedArgs(job ffmpeg.Job, source string) []string {
	options := strings.ReplaceAll(ffmpeg.SourceOptions(), ":", `\:`)
	return append(ffmpeg.RunArgs(), "-copyts",
		"-f", "lavfi", "-i", fmt.Sprintf("movie=filename=%s:dec_threads=1:format_opts='%s'[out0+subcc]", source, options),
		"-map", "0:s", "-c:s", "webvtt", "-map_metadata", "-1", "-avoid_negative_ts", "disabled", "-f", "webvtt", ffmpeg.FileURL(closedPath(job)))
}

func closedPath(job ffmpeg.Job) string { return filepath.Join(job.OutDir, "closed.vtt") }

// closedCaptions reads the closed captions of a video, or returns nil if there are none.
func (enc *Encoder) closedCaptions(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) (*Text, error) {
	source, err := filepath.Rel(job.OutDir, job.Source)
	if err != nil || strings.ContainsFunc(source, isSpecialInFilters) {
		return nil, nil
	}
	var found []byte
	may := enc.captionsPolicy(job, p, 1)
	stderr, err := enc.run.Probe(ctx, job, may, closedSearchArgs(job, p), ffmpeg.Answer(&found))
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return nil, fmt.Errorf("search closed captions: %w", ours)
	}
	if !bytes.Contains(found, []byte("Closed Captions")) {
		return nil, nil
	}
	stderr, err = enc.run.Encode(ctx, job, may, closedArgs(job, source), func(at float64) { progress.Report(at / p.Duration.Seconds()) })
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return nil, fmt.Errorf("read closed captions: %w", ours)
	}
	text, err := os.ReadFile(closedPath(job))
	if err != nil {
		return nil, nil // they cannot be read
	}
	return &Text{Stream: video.ClosedCaptions, Text: text}, nil
}

// isSpecialInFilters reports whether a character would have to be escaped in a filter.
func isSpecialInFilters(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./_-", r)
}
