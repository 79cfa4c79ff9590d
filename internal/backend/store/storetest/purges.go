package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
)

func purgeTests() []test {
	return []test{
		{"claimed once, tried again, done", purgeRoundTrip},
		{"a lease ends", purgeLeaseEnds},
		{"undone with its transaction", purgeRolledBack},
		{"claimed by many at once", purgesClaimedAtOnce},
	}
}

func record(t *testing.T, st *store.Store, p store.Purge) {
	t.Helper()
	if err := st.InTx(t.Context(), func(tx *store.Tx) error { return store.InsertPurge(t.Context(), tx, p) }); err != nil {
		t.Fatal(err)
	}
}

func claimPurges(t *testing.T, st *store.Store, lease string, now time.Time) []store.Purge {
	t.Helper()
	all, err := store.PurgesOf(st).Claim(t.Context(), 10, lease, now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func purgeRoundTrip(t *testing.T, st *store.Store) {
	rows := store.PurgesOf(st)
	want := store.Purge{ID: "p", Video: "v", Reason: "video_deleted", Files: []string{"720p.mp4", `a"b`}, CreatedAt: noon}
	record(t, st, want)
	if got := claimPurges(t, st, "early", noon.Add(-time.Second)); len(got) != 0 {
		t.Errorf("claimed before it was due: %+v", got)
	}
	want.Tries, want.Lease = 1, "one"
	got := claimPurges(t, st, "one", noon)
	if diff := cmp.Diff([]store.Purge{want}, got); diff != "" {
		t.Fatalf("claimed (-want +got):\n%s", diff)
	}
	if twice := claimPurges(t, st, "two", noon.Add(time.Second)); len(twice) != 0 {
		t.Errorf("claimed twice: %+v", twice)
	}
	err := errors.Join(rows.Again(t.Context(), got[0], noon.Add(5*time.Second), true))
	if soon := claimPurges(t, st, "soon", noon.Add(4*time.Second)); err != nil || len(soon) != 0 {
		t.Errorf("tried again too early: %+v, %v", soon, err)
	}
	got = claimPurges(t, st, "three", noon.Add(5*time.Second))
	if len(got) != 1 || got[0].Tries != 2 {
		t.Fatalf("tried again: %+v", got)
	}
	if err := rows.Again(t.Context(), got[0], noon.Add(6*time.Second), false); err != nil {
		t.Fatal(err)
	}
	got = claimPurges(t, st, "four", noon.Add(6*time.Second))
	if len(got) != 1 || got[0].Tries != 2 {
		t.Fatalf("a try that did not count: %+v", got)
	}
	if err := rows.Done(t.Context(), got[0]); err != nil {
		t.Fatal(err)
	}
	if left := claimPurges(t, st, "five", noon.Add(time.Hour)); len(left) != 0 {
		t.Errorf("there after it was done: %+v", left)
	}
}

// Whoever lost its lease changes nothing any more.
func purgeLeaseEnds(t *testing.T, st *store.Store) {
	rows := store.PurgesOf(st)
	record(t, st, store.Purge{ID: "p", Video: "v", CreatedAt: noon})
	first := claimPurges(t, st, "one", noon)
	second := claimPurges(t, st, "two", noon.Add(2*time.Minute))
	if len(first) != 1 || len(second) != 1 {
		t.Fatalf("claimed %d and %d, want both", len(first), len(second))
	}
	if err := errors.Join(rows.Done(t.Context(), first[0]), rows.Again(t.Context(), first[0], noon, true)); err != nil {
		t.Fatal(err)
	}
	if third := claimPurges(t, st, "three", noon.Add(4*time.Minute)); len(third) != 1 || third[0].Tries != 3 {
		t.Errorf("the first lease has changed it: %+v", third)
	}
}

func purgeRolledBack(t *testing.T, st *store.Store) {
	stop := errors.New("stop")
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(store.InsertPurge(t.Context(), tx, store.Purge{ID: "p", Video: "v", CreatedAt: noon}), stop)
	})
	if got := claimPurges(t, st, "one", noon); !errors.Is(err, stop) || len(got) != 0 {
		t.Errorf("recorded without its transaction: %+v, %v", got, err)
	}
}

func purgesClaimedAtOnce(t *testing.T, st *store.Store) {
	const n = 30
	for i := range n {
		record(t, st, store.Purge{ID: fmt.Sprint(i), Video: "v", CreatedAt: noon})
	}
	var total atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for empty := 0; empty < 3; {
				got, err := store.PurgesOf(st).Claim(t.Context(), 3, fmt.Sprintf("%d-%d", i, total.Load()), noon, noon.Add(time.Minute))
				if err != nil {
					t.Error(err)
					return
				}
				for _, p := range got {
					if err := store.PurgesOf(st).Done(t.Context(), p); err != nil {
						t.Error(err)
					}
				}
				total.Add(int64(len(got)))
				if empty++; len(got) > 0 {
					empty = 0
				}
			}
		})
	}
	all.Wait()
	if total.Load() != n {
		t.Errorf("%d claims of %d purges", total.Load(), n)
	}
}
