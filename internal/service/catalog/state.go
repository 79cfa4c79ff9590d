package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

// State is a video and how far the work on it has come.
type State struct {
	Video       video.Video
	Progress    float64           // 0 to 1
	Resolutions []ResolutionState // in the order asked for
	Settled     bool              // see video.Settled

	Matches []words.Match // where a search has found what is said

	Replacement *Replacement // the file that will replace this one; nil: no file will

	// Ahead is how many of the tenant's videos are processed first, while none of this one's work is done. It is nil
	// otherwise, and if there are more than maxAhead.
	Ahead *int
}

// ResolutionState is the same for one resolution.
type ResolutionState struct {
	video.Resolution
	Progress float64
	SameAs   video.Name      // a smaller resolution with the same file; "": none
	Variants []video.Variant // in other codecs than H.264, with those that are still to be made
}

// State returns a video, public or private, without any address.
func (c *Catalog) State(ctx context.Context, by auth.Actor, id video.ID) (State, error) {
	v, err := auth.VisibleVideo(ctx, c.store, by, auth.Read, id)
	if err != nil {
		return State{}, err
	}
	return c.stateOf(ctx, v)
}

// stateOf adds to a video how far it has come.
func (c *Catalog) stateOf(ctx context.Context, v video.Video) (State, error) {
	states, err := c.statesOf(ctx, []video.Video{v})
	if err != nil {
		return State{}, err
	}
	return states[0], nil
}

// States returns what State does for many videos at once; deleted ones are not among them. It checks
// no permission: it is for telling those who got a state from State how the video goes on.
func (c *Catalog) States(ctx context.Context, ids []video.ID) (map[video.ID]State, error) {
	var videos []video.Video
	var steps map[video.ID][]store.Step
	err := c.store.Read(ctx, func(q store.Queries) (err error) {
		videos, steps, err = reader{q}.videosByID(ctx, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make([]State, len(videos))
	for i, v := range videos {
		all[i] = c.newState(v, steps[v.ID])
	}
	if err := errors.Join(c.addPlaces(ctx, all), c.addReplacements(ctx, all)); err != nil {
		return nil, err
	}
	states := make(map[video.ID]State, len(videos))
	for _, s := range all {
		states[s.Video.ID] = s
	}
	return states, nil
}

// Page is a part of the list of videos.
type Page struct {
	Videos []State
	Next   video.Cursor // where the next page begins; zero: this is the last
}

// List returns at most limit of the actor's videos, newest first, from after on. A page with fewer,
// even with none, is the last only if it says so.
func (c *Catalog) List(ctx context.Context, by auth.Actor, f video.Filter, after video.Cursor, limit int) (Page, error) {
	if err := by.Require(auth.Read); err != nil {
		return Page{}, err
	}
	if f.Said != "" {
		return c.listSaid(ctx, by.Tenant, f, after, limit)
	}
	var videos []video.Video
	var next video.Cursor
	err := c.store.Read(ctx, func(q store.Queries) (err error) {
		videos, next, err = reader{q}.list(ctx, by.Tenant, f, after, limit)
		return err
	})
	if err != nil {
		return Page{}, err
	}
	states, err := c.statesOf(ctx, videos)
	return Page{Videos: states, Next: next}, err
}

// statesOf adds to videos how far they have come, with one query for all of them, and one for the places of those that wait.
func (c *Catalog) statesOf(ctx context.Context, videos []video.Video) ([]State, error) {
	steps, err := c.store.StepTotals(ctx, append(beingProcessed(videos), pipeline.LacksFiles(videos, c.now())...), pipeline.PerRendition())
	if err != nil {
		return nil, err
	}
	states := make([]State, len(videos))
	for i, v := range videos {
		states[i] = c.newState(v, steps[v.ID])
	}
	return states, errors.Join(c.addPlaces(ctx, states), c.addReplacements(ctx, states))
}

// addPlaces sets Ahead of the videos that wait.
func (c *Catalog) addPlaces(ctx context.Context, states []State) error {
	queues := map[video.Tenant][]video.ID{}
	for i, s := range states {
		if s.Video.Status != video.Processing || s.Progress > 0 {
			continue
		}
		tenant := s.Video.Tenant
		queue, read := queues[tenant]
		if !read {
			var err error
			if queue, err = processingOrder(ctx, c.store.Queries, tenant); err != nil {
				return err
			}
			queues[tenant] = queue
		}
		if place := slices.Index(queue, s.Video.ID); place >= 0 {
			states[i].Ahead = &place
		}
	}
	return nil
}

func (c *Catalog) newState(v video.Video, steps []store.Step) State {
	return StateOf(v, steps, c.now())
}

// StateOf returns the state of a video at a time. While it is processing, steps are the totals of its
// steps.
func StateOf(v video.Video, steps []store.Step, now time.Time) State {
	v.Awaited = pipeline.AwaitedFiles(v, steps)
	s := State{Video: v, Progress: progress(v.Status, steps, func(store.Step) bool { return true }), Settled: v.Settled(now)}
	for _, r := range v.Resolutions {
		rendition := -1
		if v.Plan != nil {
			rendition = v.Plan.RenditionOf(r.Name)
		}
		if rendition >= 0 && r.Status == video.Processing { // the size is decided, and a name may promise more than that
			planned := v.Plan.Renditions[rendition]
			r.Width, r.Height = planned.Width, planned.Height
		}
		s.Resolutions = append(s.Resolutions, ResolutionState{
			Resolution: r, Progress: progress(r.Status, steps, func(s store.Step) bool { return pipeline.Concerns(v.Plan, s, rendition) }),
			SameAs: v.SameAs(r), Variants: variantsOf(v, r, steps),
		})
	}
	return s
}

// variantsOf returns the variants of a resolution and how far they have come.
func variantsOf(v video.Video, r video.Resolution, steps []store.Step) []video.Variant {
	all := v.Variants(r)
	for i, x := range all {
		switch {
		case x.Status == video.Ready:
			all[i].Progress = 1
		case v.Lacks(r, x.Codec):
			all[i].Progress = pipeline.VariantProgress(x.Codec, steps)
		}
	}
	return all
}

// progress is how much of the work of the chosen steps is done. Anything less than all of it is less
// than 1, whatever the rounding. The steps say nothing about a resolution that failed: they belong to
// others, in a later pass.
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
