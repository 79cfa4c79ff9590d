package app

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// State is a video and how far the work on it has come.
type State struct {
	Video       video.Video
	Progress    float64           // 0 to 1
	Resolutions []ResolutionState // in the order asked for
	Settled     bool              // see video.Settled
}

// ResolutionState is the same for one resolution.
type ResolutionState struct {
	video.Resolution
	Progress float64
}

// VideoState returns a video, public or private, without any address.
func (a *App) VideoState(ctx context.Context, by Actor, id video.ID) (State, error) {
	v, err := a.visible(ctx, by, Read, id)
	if err != nil {
		return State{}, err
	}
	states, err := a.states(ctx, []video.Video{v})
	if err != nil {
		return State{}, err
	}
	return states[0], nil
}

// VideoStates returns what VideoState does for many videos at once; those that are
// deleted are not among them. It asks nobody's leave: it is for telling those who
// got a state from VideoState how the video goes on.
func (a *App) VideoStates(ctx context.Context, ids []video.ID) (map[video.ID]State, error) {
	videos, steps, err := a.store.VideosByID(ctx, ids, string(queue.Assemble))
	if err != nil {
		return nil, err
	}
	states := make(map[video.ID]State, len(videos))
	for _, v := range videos {
		states[v.ID] = a.state(v, steps[v.ID])
	}
	return states, nil
}

// Page is a part of the list of videos.
type Page struct {
	Videos []State
	Next   video.Cursor // where the next page begins; zero: this is the last
}

// ListVideos returns at most limit of the actor's videos, newest first, from
// after on. A page with fewer, even with none, is the last only if it says so.
func (a *App) ListVideos(ctx context.Context, by Actor, f video.Filter, after video.Cursor, limit int) (Page, error) {
	if err := by.must(Read); err != nil {
		return Page{}, err
	}
	videos, next, err := a.store.Videos(ctx, by.Tenant, f, after, limit)
	if err != nil {
		return Page{}, err
	}
	states, err := a.states(ctx, videos)
	return Page{Videos: states, Next: next}, err
}

// states adds to videos how far they have come, with one query for all of them.
func (a *App) states(ctx context.Context, videos []video.Video) ([]State, error) {
	steps, err := a.store.StepTotals(ctx, store.BeingProcessed(videos), string(queue.Assemble))
	if err != nil {
		return nil, err
	}
	states := make([]State, len(videos))
	for i, v := range videos {
		states[i] = a.state(v, steps[v.ID])
	}
	return states, nil
}

func (a *App) state(v video.Video, steps []store.Step) State {
	s := State{Video: v, Progress: progress(v.Status, steps, func(store.Step) bool { return true }), Settled: v.Settled(a.now())}
	for _, r := range v.Resolutions {
		rendition := -1
		if v.Plan != nil {
			rendition = v.Plan.RenditionOf(r.Name)
		}
		s.Resolutions = append(s.Resolutions, ResolutionState{
			Resolution: r, Progress: progress(r.Status, steps, func(s store.Step) bool { return concerns(s, rendition) }),
		})
	}
	return s
}

// concerns reports whether a rendition waits for a step: all but the assembly of
// others, because every chunk task makes all renditions. One that is in no plan
// yet, which is -1, waits for none.
func concerns(s store.Step, rendition int) bool {
	return rendition >= 0 && (s.Kind != string(queue.Assemble) || s.Number == rendition)
}

// progress is how much of the work of the chosen steps is done. Less than all
// of it shows as less than 1, whatever the rounding. The steps are nothing to a
// resolution that failed: they are those of others, in a later round.
func progress(s video.Status, steps []store.Step, chosen func(store.Step) bool) float64 {
	switch s {
	case video.Ready:
		return 1
	case video.Fail:
		return 0
	}
	var done, all float64
	for _, st := range steps {
		if chosen(st) {
			done += st.Weight * st.Progress
			all += st.Weight
		}
	}
	if all == 0 {
		return 0
	}
	return min(done/all, 0.999)
}
