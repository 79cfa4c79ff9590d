package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
)

// StorePlan stores the result of an inspection and enqueues everything that follows from it, in one
// transaction. A video that is too long for its client, or that its tenant may not have processed today, is a *video.Failure.
func (t *Tasks) StorePlan(ctx context.Context, id video.ID, p *video.Plan) error {
	return t.store.WithVideoLock(ctx, id, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, id)
		if err != nil || v.Status != video.Processing || overlap(v.Plan, p) { // given up, or inspected before
			return err
		}
		if before, err := tx.Steps(ctx, id); err != nil || passOpen(before) {
			return err // this plan belongs to the next pass
		}
		if f := v.CheckLength(p.Duration); f != nil {
			return f
		}
		if v.Plan == nil { // a later pass is about the same file
			if err := t.countLength(ctx, tx, v.Tenant, p.Duration); err != nil {
				return err
			}
			if err := chapters.Embed(ctx, tx, id, p); err != nil {
				return err
			}
		}
		v.Plan = p.After(v.Plan)
		if e := v.Plan.Early; e != nil {
			e.Began = t.clock.Now()
		}
		findings := store.Findings{Plan: v.Plan}
		if v.Sound == nil || v.Sound.Last == 0 && v.Plan.First == 0 {
			v.Sound = newSound(p)
			findings.Sound = v.Sound
		}
		steps, tasks := expand(t.passes.config, v, false)
		if err := tx.DropSteps(ctx, id); err != nil { // of the inspection, and of stale tasks
			return err
		}
		if err := tx.SetFindings(ctx, id, findings); err != nil {
			return err
		}
		if err := setWarnings(ctx, tx, v, p.Warnings); err != nil {
			return err
		}
		if err := tx.InsertSteps(ctx, id, steps); err != nil {
			return err
		}
		return t.passes.queue.Enqueue(ctx, tx, tasks...)
	})
}

// StoreStill stores the picture of a video whose file has none, for the tasks of the plan that follows. An inspection that
// runs twice writes the same picture.
func (t *Tasks) StoreStill(ctx context.Context, v video.Video, path string) error {
	if _, err := t.blobs.PutFile(ctx, objects.Still(v.Folder()), path); err != nil {
		return fmt.Errorf("store the picture: %w", err)
	}
	return nil
}

// countLength counts the length of a video, or returns a *video.Failure if its tenant had used up the minutes
// of today before. It is asked for when an upload is accepted, too, but many may have been accepted before
// the first of them was inspected.
func (t *Tasks) countLength(ctx context.Context, tx *store.Tx, tenant video.Tenant, d time.Duration) error {
	now := t.clock.Now()
	if err := tenants.AddLength(ctx, tx, tenant, d, now); err != nil {
		return err
	}
	usage, err := tenants.UsageOf(ctx, tx.Queries, tenant, now)
	if err != nil {
		return err
	}
	usage.LengthToday -= d
	if f := usage.CheckMinutes(); f != nil {
		return f
	}
	return nil
}

// expand turns the plan of a video into its steps and the tasks that can start at once, either
// for the pass or, with after, for the work that follows it.
func expand(c Config, v video.Video, after bool) (steps []store.Step, tasks []queue.Task) {
	return expandKinds(v, func(k Kind) bool {
		if after && v.Replaces != "" {
			return k.Name == queue.Replace
		}
		return (k.Stage == After) == after && (k.Enabled == nil || k.Enabled(c))
	})
}

func expandKinds(v video.Video, wanted func(Kind) bool) (steps []store.Step, tasks []queue.Task) {
	for _, k := range kinds {
		if k.Numbers == nil || !wanted(k) {
			continue
		}
		from, to := k.Numbers(v)
		for n := from; n < to; n++ {
			if k.Wants != nil && !k.Wants(v, n) {
				continue
			}
			s := store.Step{Kind: string(k.Name), Number: n}
			if k.Weight != nil {
				s.Weight = k.Weight(v.Plan, n)
			}
			steps = append(steps, s)
			if k.waits() {
				continue
			}
			t := newTask(k.Name, v.ID, v.Tenant, n)
			if first, ok := headPriorityOf(v.Plan, t); ok {
				t.Priority = first
			}
			tasks = append(tasks, t)
		}
	}
	return steps, tasks
}

// overlap reports whether two plans have a resolution in common.
func overlap(plan, other *video.Plan) bool {
	if plan == nil {
		return false
	}
	return slices.ContainsFunc(other.Renditions, func(r video.Rendition) bool {
		return slices.ContainsFunc(r.Names, func(n video.Name) bool { return plan.RenditionOf(n) >= 0 })
	})
}

// setWarnings replaces the warnings about a video. Those about renditions of earlier passes stay:
// they are still true.
func setWarnings(ctx context.Context, tx *store.Tx, v video.Video, all []video.Warning) error {
	if slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool { return r.Status == video.Ready }) {
		fresh := slices.DeleteFunc(slices.Clone(all), func(w video.Warning) bool { return slices.Contains(v.Warnings, w) })
		all = slices.Concat(v.Warnings, fresh)
	}
	if slices.Equal(all, v.Warnings) {
		return nil
	}
	return tx.SetFindings(ctx, v.ID, store.Findings{Warnings: append([]video.Warning{}, all...)}) // none is a list, too
}
