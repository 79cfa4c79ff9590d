package pipeline

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Parts are the files of one track of a video, from the first one up to the first gap.
type Parts struct {
	Keys   []string // in order of time; a chunk in which nothing could be decoded has none
	Frames int64    // that the files have together
	Done   int      // chunks or pieces, also the ones that have no file
	All    bool     // nothing follows
	Broken bool     // audio: what follows could not be decoded
}

// VideoParts returns the parts of a rendition of the current pass.
func VideoParts(v video.Video, steps []store.Step, rendition int) Parts {
	kinds := map[video.Set]queue.Kind{video.FirstSet: queue.Encode, video.LargeSet: queue.Large, video.RecodedSet: queue.Recode}
	return chunkParts(kinds[v.Plan.SetOf(rendition)], v, steps, rendition)
}

// chunkParts returns the chunk files of a rendition that tasks of a kind have made.
func chunkParts(kind queue.Kind, v video.Video, steps []store.Step, rendition int) Parts {
	p := Parts{}
	for n, s := range stepsOf(kind, steps, len(v.Plan.Chunks)) {
		if !s.Done {
			return p
		}
		p.Done++
		if s.Frames > 0 {
			p.Keys = append(p.Keys, objects.Chunk(v.Folder(), KindOf(kind).Codec, n, rendition, s.Run))
			p.Frames += s.Frames
		}
	}
	p.All = true
	return p
}

// AudioParts returns the parts of a sound track of the file.
func AudioParts(v video.Video, steps []store.Step, track int) Parts {
	p := Parts{}
	first := video.AudioTask(track, 0)
	all := stepsOf(queue.Audio, steps, first+v.Plan.AudioPieces())
	for n, s := range all[first:] {
		if !s.Done {
			return p
		}
		p.Done++
		if s.Frames <= 0 {
			p.All, p.Broken = true, s.Frames != ended
			return p
		}
		p.Keys = append(p.Keys, objects.Audio(v.Folder(), first+n, s.Run))
		p.Frames += s.Frames
		if from, to := v.Plan.AudioPiece(n); s.Frames < to-from { // it ended
			break
		}
	}
	p.All = true
	return p
}

// stepsOf returns the steps of a kind by their numbers. Those that do not exist are not done.
func stepsOf(kind queue.Kind, steps []store.Step, count int) []store.Step {
	all := make([]store.Step, count)
	for _, s := range steps {
		if s.Kind == string(kind) && s.Number < count {
			all[s.Number] = s
		}
	}
	return all
}

// packetSeconds is when a packet of the audio begins.
func packetSeconds(n int64) float64 { return float64(n) * 1024 / 48_000 }

const (
	// spare is the part of a video's length in which the rest must be encoded, at the speed so far,
	// for a viewer who begins now and never has to wait.
	spare = 0.9
	// playlistAge is how old a player's copy of the playlist may be.
	playlistAge = 2 * time.Second
)

// recordPlayable records that a video can be played while it is encoded, as soon as that is so. The
// resolutions that could be played may have been deleted since the plan was made.
func (t *Tasks) recordPlayable(ctx context.Context, tx *store.Tx, v video.Video, steps []store.Step) error {
	now := t.clock.Now()
	if !v.PlayableAt.IsZero() || !playable(v, steps, now) {
		return nil
	}
	if v.PlayableAt = now; !v.Playable() {
		return nil
	}
	tx.OnCommit(func() { t.passes.log.InfoContext(ctx, "video playable", "video", v.ID) })
	return tx.SetFindings(ctx, v.ID, store.Findings{Playable: now})
}

// playable reports whether enough of the smallest rendition and of the audio is there.
func playable(v video.Video, steps []store.Step, now time.Time) bool {
	p := v.Plan
	if p == nil || p.Early == nil || v.Status != video.Processing {
		return false
	}
	for track := range p.Sounds() { // players learn of all tracks when they begin
		if audio := AudioParts(v, steps, track); beginsSound(steps, track) && audio.Done == 0 && !audio.All {
			return false
		}
	}
	smallest := len(p.Renditions) - 1
	if !p.PlaysEarly(smallest) {
		return false
	}
	parts := VideoParts(v, steps, smallest)
	if parts.All || len(parts.Keys) == 0 {
		return parts.All && len(parts.Keys) > 0
	}
	var there time.Duration
	for n := range parts.Done {
		there += p.Length(n)
	}
	speed := there.Seconds() / max(now.Sub(p.Early.Began), time.Millisecond).Seconds()
	return speed*spare >= 1-there.Seconds()/p.Duration.Seconds() && keepsAhead(p, parts.Done, there, speed)
}

// keepsAhead reports whether each chunk will be there before a viewer who begins now has seen all of
// those before it, if so many seconds of video are encoded in a second.
func keepsAhead(p *video.Plan, next int, there time.Duration, speed float64) bool {
	end := there
	fetchable := mp4.Fetchable
	if p.SourceKeys() {
		fetchable = mp4.FetchableOf(keyTimes(p))
	}
	for n := next; n < len(p.Chunks); n++ {
		before := end
		end += p.Length(n)
		wait := time.Duration(float64(end-there) / speed)
		if wait+playlistAge > fetchable(before) {
			return false
		}
	}
	return true
}

// keyTimes returns when the keyframes of all renditions are shown that are where the source has them.
func keyTimes(p *video.Plan) []time.Duration {
	var all []time.Duration
	for _, c := range p.Chunks {
		for _, k := range c.Keys {
			all = append(all, time.Duration(p.Input.TimeBase.Seconds(k-p.FirstPTS)*float64(time.Second)))
		}
	}
	return all
}
