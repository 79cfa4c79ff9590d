package api

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/video"
)

// systemRoutes are the operations on the whole service.
type systemRoutes struct{ system *system.Service }

func (r systemRoutes) register(t *table) {
	add(t, operation{
		id: "getSystem", route: "GET /api/system", summary: "Get workers, queue, disk and stored bytes of the whole service; for keys of the operator's tenant", tag: "system",
		scopes: []auth.Scope{auth.Admin}, status: 200,
	}, r.status)
}

// systemView is how the whole service is doing.
type systemView struct {
	Version string       `json:"version" doc:"Of the process that answers."`
	Workers []workerView `json:"workers" nullable:"false" doc:"Live processes that run tasks, on all machines."`
	Queue   []kindView   `json:"queue" nullable:"false" doc:"Every kind of task."`
	Disk    diskView     `json:"disk" doc:"The disk with the data directory of the process that answers."`
	Storage []areaView   `json:"storage" nullable:"false" doc:"What the storage held when it was last counted: at the start, every hour, and within minutes of a change while it holds little."`
}

type workerView struct {
	ID            string        `json:"id"`
	Host          string        `json:"host"`
	Version       string        `json:"version"`
	Sandbox       string        `json:"sandbox" doc:"How ffmpeg is confined; empty: it is not known."`
	Cores         int           `json:"cores"`
	Slots         int           `json:"slots" doc:"Tasks that it can run at once."`
	UpSeconds     float64       `json:"upSeconds" doc:"Since its start."`
	SilentSeconds float64       `json:"silentSeconds" doc:"Since its last heartbeat."`
	Done          int64         `json:"done" doc:"Tasks finished since its start."`
	Retried       int64         `json:"retried" doc:"Attempts since its start that failed and are repeated."`
	Tasks         []runningView `json:"tasks" nullable:"false" doc:"The oldest first."`
}

type runningView struct {
	Kind    string   `json:"kind" example:"encode"`
	VideoID video.ID `json:"videoId,omitempty" doc:"Absent for a video of another tenant."`
	Number  int      `json:"number" doc:"Which chunk or rendition."`
	Attempt int      `json:"attempt"`
	Seconds float64  `json:"seconds" doc:"Since it began."`
}

type kindView struct {
	Kind          string  `json:"kind" example:"encode"`
	Waiting       int     `json:"waiting"`
	Running       int     `json:"running"`
	OldestSeconds float64 `json:"oldestSeconds" doc:"How long the oldest due task has waited."`
}

type diskView struct {
	FreeBytes uint64 `json:"freeBytes"`
	SizeBytes uint64 `json:"sizeBytes"`
}

type areaView struct {
	Area      string     `json:"area" example:"source"`
	Objects   int64      `json:"objects"`
	Bytes     int64      `json:"bytes"`
	CountedAt *time.Time `json:"countedAt,omitempty" doc:"Absent: it was not counted yet."`
}

func (r systemRoutes) status(ctx context.Context, c *call) (*systemView, error) {
	s, err := r.system.Status(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	return viewSystem(s), nil
}

func viewSystem(s system.Status) *systemView {
	out := &systemView{
		Version: s.Version, Disk: diskView{s.Disk.Free, s.Disk.Size},
		Workers: []workerView{}, Queue: []kindView{}, Storage: []areaView{},
	}
	for _, w := range s.Workers {
		v := workerView{
			ID: w.ID, Host: w.Host, Version: w.Version, Sandbox: w.Sandbox, Cores: w.Cores, Slots: w.Slots,
			UpSeconds: w.Age.Seconds(), SilentSeconds: w.Silent.Seconds(), Done: w.Done, Retried: w.Failed, Tasks: []runningView{},
		}
		for _, t := range w.Running {
			v.Tasks = append(v.Tasks, runningView{string(t.Kind), t.Video, t.Number, t.Attempt, t.For.Seconds()})
		}
		out.Workers = append(out.Workers, v)
	}
	for _, k := range s.Queue {
		out.Queue = append(out.Queue, kindView{string(k.Kind), k.Waiting, k.Running, k.Oldest.Seconds()})
	}
	for _, c := range s.Stored {
		v := areaView{Area: c.Area, Objects: c.Objects, Bytes: c.Bytes}
		if !c.CountedAt.IsZero() {
			v.CountedAt = &c.CountedAt
		}
		out.Storage = append(out.Storage, v)
	}
	return out
}
