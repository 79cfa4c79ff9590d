package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
)

func storedTests() []test {
	return []test{{"the last count of each area is kept", testStored}}
}

func testStored(t *testing.T, st *store.Store) {
	read := func(want ...store.Stored) {
		t.Helper()
		got, err := store.StoredOf(st).All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counts differ (-want +got):\n%s", diff)
		}
	}
	read()
	work := store.Stored{Area: "work", Objects: 3, Bytes: 1 << 45, CountedAt: noon}
	for _, c := range []store.Stored{work, {Area: "source", Objects: 9, Bytes: 9, CountedAt: noon}, {Area: "source", Objects: 2, Bytes: 8, CountedAt: noon.Add(time.Hour)}} {
		if err := store.StoredOf(st).Record(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	read(store.Stored{Area: "source", Objects: 2, Bytes: 8, CountedAt: noon.Add(time.Hour)}, work)
}
