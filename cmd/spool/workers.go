package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
)

type workersCommand struct {
	Location
	JSON bool `name:"json" help:"Print JSON."`
}

func (workersCommand) Help() string {
	return `Lists the processes that run the tasks of a shared database, and the tasks of
each. A process that has been silent for 15 s is considered dead, and others take
its tasks. With SQLite, the service runs all tasks itself: see its /metrics.

    spool workers --database-url=postgres://spool@db/spool
    watch -n 2 spool workers
`
}

// Run lists the workers.
func (c *workersCommand) Run(ctx context.Context, p *process) error {
	if c.DatabaseURL == "" {
		return &configError{[]string{"database_url is not set: with SQLite the service runs all tasks itself; see its /metrics."}}
	}
	all, err := listWorkers(ctx, c.Location)
	if err != nil {
		return fmt.Errorf("list workers: %w", err)
	}
	views := make([]workerView, len(all))
	rows := [][]string{{"ID", "UP", "LAST SEEN", "DONE", "RETRIED", "BUSY", "WORKS ON"}}
	for i, w := range all {
		views[i] = viewWorker(w)
		rows = append(rows, []string{
			w.ID, w.Age.Round(time.Second).String(), w.Silent.Round(100*time.Millisecond).String() + " ago",
			fmt.Sprint(w.Done), fmt.Sprint(w.Failed), fmt.Sprintf("%d/%d", len(w.Running), w.Slots), strings.Join(views[i].taskNames(), ", "),
		})
	}
	if c.JSON {
		return printJSON(p.stdout, views)
	}
	return printTable(p.stdout, rows)
}

func listWorkers(ctx context.Context, l Location) (_ []queue.Worker, err error) {
	db, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	q, err := river.Open(ctx, db, river.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return q.Workers(ctx)
}

// workerView is a worker as JSON.
type workerView struct {
	ID            string    `json:"id"`
	Host          string    `json:"host"`
	Slots         int       `json:"slots"`
	UpSeconds     float64   `json:"upSeconds"`
	SilentSeconds float64   `json:"silentSeconds"`
	Done          int64     `json:"done"`
	Retried       int64     `json:"retried"`
	Tasks         []runView `json:"tasks"`
}

type runView struct {
	Kind    queue.Kind `json:"kind"`
	Video   string     `json:"video"`
	Number  int        `json:"number"`
	Attempt int        `json:"attempt"`
	Seconds float64    `json:"seconds"`
}

func viewWorker(w queue.Worker) workerView {
	v := workerView{
		ID: w.ID, Host: w.Host, Slots: w.Slots, UpSeconds: w.Age.Seconds(), SilentSeconds: w.Silent.Seconds(),
		Done: w.Done, Retried: w.Failed, Tasks: []runView{},
	}
	for _, r := range w.Running {
		v.Tasks = append(v.Tasks, runView{r.Kind, string(r.Video), r.Number, r.Attempt, r.For.Seconds()})
	}
	return v
}

// taskNames describes the tasks of a worker in the table.
func (v workerView) taskNames() []string {
	var words []string
	for _, t := range v.Tasks {
		// The whole ID: the first part of it is only the minute in which it was made.
		words = append(words, fmt.Sprintf("%s %d of %s (%.0f s)", t.Kind, t.Number, t.Video, t.Seconds))
	}
	return words
}
