package janitor

import (
	"context"
	"time"
)

const (
	indexEvery = time.Minute // and for how long one process does it
	indexBatch = 100         // videos in a transaction
)

// IndexMetadata indexes the metadata of videos that are not in the index yet until ctx ends. It is
// for those from before the index, and for those of older processes during an upgrade.
func (m *Maintenance) IndexMetadata(ctx context.Context) {
	for {
		more := false
		m.runJob(ctx, func(ctx context.Context) { more = m.indexMetadata(ctx) })
		if more {
			continue
		}
		select {
		case <-time.After(indexEvery):
		case <-ctx.Done():
			return
		}
	}
}

// indexMetadata indexes for a minute at most, and reports whether more is left. After that another
// process may go on.
func (m *Maintenance) indexMetadata(ctx context.Context) (more bool) {
	if !m.acquire(ctx, "index metadata", indexEvery) {
		return false
	}
	var videos int
	for began := time.Now(); time.Since(began) < indexEvery; {
		batch := time.Now()
		n, err := m.Store.Labels().Backfill(ctx, indexBatch)
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			m.Log.WarnContext(ctx, "could not index the metadata of videos", "err", err)
			return false
		}
		if videos += n; n < indexBatch {
			if videos > 0 {
				m.Log.InfoContext(ctx, "metadata of older videos indexed", "videos", videos)
			}
			return false
		}
		select {
		case <-time.After(time.Since(batch)): // others want to write, too
		case <-ctx.Done():
			return false
		}
	}
	m.Log.InfoContext(ctx, "metadata of older videos is being indexed", "videos", videos)
	return true
}
