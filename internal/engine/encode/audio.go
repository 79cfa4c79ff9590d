package encode

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/video"
)

const sampleRate = 48_000

func audioPath(job ffmpeg.Job) string { return filepath.Join(job.OutDir, "audio.mp4") }

// audioRun says what a run of ffmpeg makes of the audio.
type audioRun struct {
	samples  int64 // it ends after so many; 0: it does not
	padded   bool  // silence follows on its end, up to the end of the video
	measured bool  // its loudness is measured, too
}

// audioArgs encodes the whole audio track: shifted such that time zero is the
// first frame of the video, silent where the source has gaps or begins late, and
// no longer than the video.
func audioArgs(job ffmpeg.Job, p *video.Plan, r audioRun, threads int) []string {
	graph, more := audioFilters(p, r)+"[a]", []string(nil)
	if r.measured {
		graph, more = measuredGraph(audioFilters(p, r), p.Duration), meterOutput
	}
	return slices.Concat(ffmpeg.CommonArgs(job, p.Input, p.Audio.SeekTo(), threads), ffmpeg.RepeatErrors, []string{
		"-filter_complex", graph, "-map", "[a]",
		"-c:a", "aac", "-profile:a", "aac_low", "-b:a", strconv.Itoa(p.Audio.Bitrate), "-ar", strconv.Itoa(sampleRate), "-ac", "2",
	}, exactLevel(p), ffmpeg.NoMetadata, []string{"-f", "mp4", ffmpeg.FileURL(audioPath(job))}, more)
}

// audioFilters are the filters of a run up to the sound that is encoded.
func audioFilters(p *video.Plan, r audioRun) string {
	graph := strings.TrimSuffix(audioGraph(p), "[a]") + levelFilters(p.Audio)
	if r.padded {
		graph += fmt.Sprintf(",apad=whole_len=%d", samplesUntil(p.Duration))
	}
	if r.samples > 0 {
		graph += fmt.Sprintf(",atrim=end_sample=%d", r.samples)
	}
	return graph
}

// audioPart is a part of the audio's timeline.
type audioPart struct {
	from, to time.Duration
	silent   bool // generated, not taken from the source
}

// audioParts divides the timeline into parts with audio and long silences. Parts
// with audio reach a little into the silences around them, because the packets
// of a source are not cut to the sample.
func audioParts(p *video.Plan) []audioPart {
	const margin = time.Second
	var out []audioPart
	at := time.Duration(0)
	for _, s := range p.Audio.Silences {
		from, to := s.From+margin, min(s.To-margin, p.Duration)
		if s.From == 0 {
			from = 0
		}
		if from >= to {
			continue
		}
		if from > at {
			out = append(out, audioPart{from: at, to: from})
		}
		out = append(out, audioPart{from: from, to: to, silent: true})
		at = to
	}
	if at < p.Duration {
		out = append(out, audioPart{from: at, to: p.Duration})
	}
	return out
}

// fullMono makes up for what swresample takes from a single channel when it becomes two: 3 dB. Players take nothing,
// so the video would be quieter than its source. It asks the frames: a file may say mono and turn out to be stereo.
const fullMono = "volume=volume='if(eq(nb_channels,1),sqrt(2),1)':precision=float"

// audioGraph joins the audio filters, labelled [a].
func audioGraph(p *video.Plan) string {
	source := fmt.Sprintf("[0:%d]%s", p.Audio.Stream, audioClock(p))
	if p.Audio.Channels == 1 {
		source += "," + fullMono
	}
	steady := fmt.Sprintf("aresample=%d:async=1:first_pts=0,aformat=channel_layouts=stereo", sampleRate)
	parts := audioParts(p)
	if len(parts) == 1 && !parts[0].silent {
		// Audio far behind the end of the video is cut off first: the gap before it would
		// be filled with hours of silence.
		begin := "" // what comes a little before the first frame is dropped by aresample
		if p.Part != nil {
			begin = "start=0:"
		}
		return fmt.Sprintf("%s,atrim=%send=%f,%s,atrim=end_pts=%d[a]", source, begin, (p.Duration + time.Second).Seconds(), steady, samplesUntil(p.Duration))
	}
	var g, splits, joins strings.Builder
	sounding := 0
	for i, t := range parts {
		length := samplesUntil(t.to) - samplesUntil(t.from)
		fmt.Fprintf(&joins, "[p%d]", i)
		if t.silent {
			fmt.Fprintf(&g, ";anullsrc=r=%d:cl=stereo,atrim=end_sample=%d[p%d]", sampleRate, length, i)
			continue
		}
		sounding++
		fmt.Fprintf(&splits, "[s%d]", i)
		fmt.Fprintf(&g, ";[s%d]atrim=start=%f:end=%f,asetpts=PTS-%f/TB,%s,apad,atrim=end_sample=%d[p%d]",
			i, t.from.Seconds(), t.to.Seconds(), t.from.Seconds(), steady, length, i)
	}
	return fmt.Sprintf("%s,asplit=%d%s%s;%sconcat=n=%d:v=0:a=1[a]", source, sounding, splits.String(), g.String(), joins.String(), len(parts))
}

// audioClock puts the audio on the timeline of the video.
func audioClock(p *video.Plan) string {
	tb := p.Input.TimeBase
	zero := fmt.Sprintf("asetpts=PTS-(%d*%d/%d)/TB", p.FirstPTS, tb.Num, tb.Den)
	if len(p.Audio.Jumps) == 0 {
		return zero
	}
	var shifts []string
	for _, s := range p.Audio.Jumps {
		shifts = append(shifts, fmt.Sprintf("%.9f/TB", s.Seconds()))
	}
	return fmt.Sprintf("asetpts='%s',%s", continuousPTS(shifts, ffmpeg.ClockLeaps(p.Input.Container)), zero)
}

func samplesUntil(d time.Duration) int64 { return int64(math.Ceil(d.Seconds() * sampleRate)) }

// EncodeAudio encodes one piece of the audio; a video that is not played while it is encoded has only one. Every
// piece is encoded from the beginning of the audio and then cut: the encoder has then seen the same samples as for
// the piece before, so the join cannot be heard. ErrNoAudio says that the audio ends before this piece, or that
// nothing of it can be decoded. Output.Lost counts from the beginning, too, also with ErrNoAudio. The last piece of a track
// that stays as loud as it is knows how loud that is; of others, Level has to be called first.
func (enc *Encoder) EncodeAudio(ctx context.Context, job ffmpeg.Job, p *video.Plan, n int, progress ffmpeg.Progress) (Output, error) {
	from, to := p.AudioPiece(n)
	run := audioRun{measured: to == video.Forever && p.LoudnessTarget == 0}
	if to != video.Forever {
		// The last packets before an end differ from those in the middle.
		run.samples = (to + packetsAfter) * mp4.PacketSamples
	}
	whole, err := enc.encodeAudio(ctx, job, p, run, progress)
	if err == nil && whole.Frames > 0 && int64(whole.Frames)*mp4.PacketSamples < lengthOf(p, run.samples) {
		// It is not padded at first: of a track that cannot be decoded, there would be nothing but the silence.
		lost := whole.Lost
		run.padded = true
		whole, err = enc.encodeAudio(ctx, job, p, run, progress)
		whole.Lost = lost
	}
	switch {
	case err != nil:
		return Output{}, err
	case int64(whole.Frames) <= from:
		return Output{Lost: whole.Lost, Loudness: whole.Loudness}, fmt.Errorf("encode audio: %w", ErrNoAudio)
	case from == 0 && to == video.Forever:
		whole.Whole = whole.Path
		return whole, nil
	}
	out := Output{Path: filepath.Join(job.OutDir, "piece.mp4"), Frames: int(min(int64(whole.Frames), to) - from), Lost: whole.Lost, Loudness: whole.Loudness}
	if to == video.Forever {
		out.Whole = whole.Path
	}
	if err := cutPiece(whole.Path, out.Path, int(from), out.Frames); err != nil {
		return Output{}, fmt.Errorf("cut piece %d of the audio: %w", n, err)
	}
	return out, nil
}

// lengthOf returns how many samples of a track are encoded, if all of them are wanted or only some.
func lengthOf(p *video.Plan, samples int64) int64 {
	if whole := samplesUntil(p.Duration); samples == 0 || samples > whole {
		return whole
	}
	return samples
}

// packetsAfter is how many packets more than wanted are encoded.
const packetsAfter = 16

func cutPiece(whole, piece string, from, packets int) error {
	in, err := os.Open(whole)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(piece)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := mp4.CutAudio(out, mp4.Input{ReaderAt: in, Size: info.Size()}, from, packets); err != nil {
		return err
	}
	return out.Close()
}

// WriteSound writes an encoded track to a file of its own, in the folder of the job, and returns its path.
func WriteSound(job ffmpeg.Job, p *video.Plan, track string) (path string, err error) {
	in, err := os.Open(track)
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	path = filepath.Join(job.OutDir, "sound.m4a")
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer out.Close()
	if err := mp4.WriteSound(out, mp4.Input{ReaderAt: in, Size: info.Size()}, p.Timescale, p.AudioPieces() > 1); err != nil {
		return "", fmt.Errorf("write a sound track: %w", err)
	}
	return path, out.Close()
}

// encodeAudio encodes the audio, or its first samples. An output without frames
// is one that could not be decoded.
func (enc *Encoder) encodeAudio(ctx context.Context, job ffmpeg.Job, p *video.Plan, r audioRun, progress ffmpeg.Progress) (Output, error) {
	if p.Audio == nil {
		return Output{}, nil
	}
	length := p.Duration
	if r.samples > 0 {
		length = min(length, time.Duration(r.samples)*time.Second/sampleRate)
	}
	ctx, cancel := enc.withDeadline(ctx, audioTime(p, job.Source))
	job.Patience = patience(p, p.Audio.SeekTo())
	defer cancel()
	undecoded, stderr, err := enc.run.EncodeCounting(ctx, job, enc.encodePolicy(job, p, p.Duration), audioArgs(job, p, r, enc.threads), p.Audio.Stream, func(at float64) {
		progress.Report(at / length.Seconds())
	})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return Output{}, fmt.Errorf("encode audio: %w", ours)
	}
	out, checkErr := checkFile(audioPath(job), "", nil, p.Duration)
	switch {
	case err != nil && (out.Frames > 0 || !ffmpeg.SourceDamaged(stderr)):
		return Output{}, fmt.Errorf("encode audio: %w", err)
	case err == nil && checkErr != nil:
		return Output{}, fmt.Errorf("encode audio: %w", checkErr)
	}
	progress.Report(1)
	out.Lost = lostAudio(p, undecoded)
	if r.measured {
		if out.Loudness, err = readMeter(job, p); err != nil {
			return Output{}, fmt.Errorf("read the loudness: %w", err)
		}
	}
	return out, nil
}

// lostAudio is how much is lost with so many packets. Of AMR nothing is: phones leave out the pauses of a speaker, and
// ffmpeg calls the packets that stand for them damaged, or not implemented.
func lostAudio(p *video.Plan, undecoded int) time.Duration {
	if strings.HasPrefix(p.Audio.Codec, "amr") {
		return 0
	}
	return min(time.Duration(undecoded)*p.Audio.Packet, p.Duration)
}
