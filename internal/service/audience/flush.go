package audience

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

const (
	// writeEvery is how often what was counted is written.
	writeEvery = 5 * time.Second
	// writeTimeout is how long that may take.
	writeTimeout = 30 * time.Second
)

// Run writes what was counted, and removes what is old, until ctx ends. Flush writes the rest.
func (s *Service) Run(ctx context.Context) {
	write, clean := time.NewTicker(writeEvery), time.NewTicker(cleanEvery)
	defer write.Stop()
	defer clean.Stop()
	s.inPeace(ctx, "clean up", s.clean)
	for {
		select {
		case <-ctx.Done():
			return
		case <-write.C:
			s.inPeace(ctx, "write", s.Flush)
		case <-s.full:
			s.inPeace(ctx, "write", s.Flush)
		case <-clean.C:
			s.inPeace(ctx, "clean up", s.clean)
			s.inPeace(ctx, "look for codecs in", s.Reward)
			s.places.refresh(s.log)
		}
	}
}

// inPeace does something whose failure is logged.
func (s *Service) inPeace(ctx context.Context, what string, do func(context.Context) error) {
	err := panics.Catch(func() error { return do(ctx) })
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "could not "+what+" what was counted of the audience; it is tried again", "err", err)
	}
}

// Flush writes what was counted. If that fails, it is kept for the next time.
func (s *Service) Flush(ctx context.Context) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	b := s.pending
	s.pending = newBatch()
	s.mu.Unlock()
	if b.isEmpty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := s.store.InTx(ctx, func(tx *store.Tx) error { return write(ctx, tx, b) })
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending.merge(b)
	}
	return err
}

// write adds a batch to the rows. It does not change the batch, because a transaction may be run again.
//
// The rows of the videos come first: from then on, no other process records viewers of these videos.
func write(ctx context.Context, tx *store.Tx, b *batch) error {
	tenants, err := tenantsOf(ctx, tx.Queries, b.videos())
	if err != nil {
		return err
	}
	all, late := newTotals(tenants), newTotals(tenants)
	for key, from := range b.slots {
		all.add(key, from)
	}
	for v, hour := range b.viewers {
		all.add(slot{v.video, hour}, new(sums))
	}
	for v, from := range b.visits {
		all.add(slot{v.video, from.hour}, new(sums))
	}
	if err := addAll(ctx, tx, ofVideos, all.videos); err != nil {
		return err
	}
	if err := writeViewers(ctx, tx, b, late); err != nil {
		return err
	}
	if err := writeVisits(ctx, tx, b, late); err != nil {
		return err
	}
	if err := addAll(ctx, tx, ofVideos, late.videos); err != nil {
		return err
	}
	for key, r := range late.tenants {
		all.tenant(key).add(&r.sums)
	}
	return addAll(ctx, tx, ofTenants, all.tenants)
}

// videos returns the videos that a batch is about.
func (b *batch) videos() []video.ID {
	ids := map[video.ID]bool{}
	for key := range b.slots {
		ids[key.video] = true
	}
	for v := range b.viewers {
		ids[v.video] = true
	}
	for v := range b.visits {
		ids[v.video] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// writeViewers records the viewers of a batch, and adds those that are new to the hours in which they came.
func writeViewers(ctx context.Context, tx *store.Tx, b *batch, late *totals) error {
	salts := map[int64]string{}
	for v, hour := range b.viewers {
		if _, exists := late.of[v.video]; !exists {
			continue
		}
		if salts[v.day] == "" {
			salt, err := saltOf(ctx, tx, v.day, rand.Text())
			if err != nil {
				return err
			}
			salts[v.day] = salt
		}
		address, hash := v.hashes(salts[v.day])
		fresh, err := addPerson(ctx, tx, v.video, v.day, address, hash)
		if err != nil {
			return err
		}
		if fresh {
			late.add(slot{v.video, hour}, &sums{Viewers: 1})
		}
	}
	return nil
}

// writeVisits adds the views of those sessions that no process has counted before.
func writeVisits(ctx context.Context, tx *store.Tx, b *batch, late *totals) error {
	for v, from := range b.visits {
		if _, exists := late.of[v.video]; !exists {
			continue
		}
		fresh, err := addVisit(ctx, tx, v)
		if err != nil {
			return err
		}
		if fresh {
			late.add(slot{v.video, from.hour}, &from.sums)
		}
	}
	return nil
}

// hashes returns what is stored of a viewer: a number for the address, and one for the address with the user agent. Both
// differ from video to video.
func (v viewer) hashes(salt string) (address, hash int64) {
	sum := func(of ...[]byte) int64 {
		h := hmac.New(sha256.New, []byte(salt))
		h.Write([]byte(v.video))
		for _, b := range of {
			h.Write(b)
		}
		return int64(binary.BigEndian.Uint64(h.Sum(nil))>>1) | 1 // positive, and never 0
	}
	network, _ := v.network.MarshalBinary() // of an address, or of none: it cannot fail
	return sum(network), sum(network, v.person[:])
}

// totals are the rows that a batch adds to.
type totals struct {
	of              map[video.ID]video.Tenant
	videos, tenants map[rowKey]*row
}

func newTotals(of map[video.ID]video.Tenant) *totals {
	return &totals{of: of, videos: map[rowKey]*row{}, tenants: map[rowKey]*row{}}
}

// add adds sums to the rows of an hour and its day, of a video that exists and of its tenant.
func (t *totals) add(key slot, s *sums) {
	tenant, exists := t.of[key.video]
	if !exists {
		return
	}
	for span, at := range map[span]int64{hours: key.hour.UnixMilli(), days: key.hour.Truncate(day).UnixMilli()} {
		name := rowKey{string(key.video), span, at}
		if t.videos[name] == nil {
			t.videos[name] = &row{video: key.video, tenant: tenant, span: span, at: at}
		}
		t.videos[name].add(s)
		t.tenant(rowKey{string(tenant), span, at}).add(s)
	}
}

func (t *totals) tenant(key rowKey) *row {
	if t.tenants[key] == nil {
		t.tenants[key] = &row{tenant: video.Tenant(key.subject), span: key.span, at: key.at}
	}
	return t.tenants[key]
}

// addAll adds rows to a table, in an order that is the same in all processes, so that they do not wait for each other in a
// circle.
func addAll(ctx context.Context, tx *store.Tx, t table, rows map[rowKey]*row) error {
	names := slices.SortedFunc(maps.Keys(rows), func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.span, b.span), cmp.Compare(a.at, b.at))
	})
	for some := range slices.Chunk(names, rowsAtOnce) {
		chunk := make([]*row, len(some))
		for i, name := range some {
			chunk[i] = rows[name]
		}
		if err := addChunk(ctx, tx, t, chunk); err != nil {
			return err
		}
	}
	return nil
}

// addChunk adds the counters of some rows, and then writes the lists of those that have some.
func addChunk(ctx context.Context, tx *store.Tx, t table, rows []*row) error {
	before, err := addRows(ctx, tx, t, rows, nil)
	if err != nil {
		return err
	}
	var changed []*row
	var texts []string
	for _, r := range rows {
		if r.lists.isEmpty() {
			continue
		}
		l, err := decodeLists(before[r.key(t)])
		if err != nil {
			return err
		}
		l.merge(&r.lists)
		changed = append(changed, &row{video: r.video, tenant: r.tenant, span: r.span, at: r.at})
		texts = append(texts, l.encode())
	}
	if len(changed) == 0 {
		return nil
	}
	_, err = addRows(ctx, tx, t, changed, texts)
	return err
}
