package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	eachDatabase(t, []databaseTest{
		{"the index answers as reading all metadata does", indexAgreesWithMetadata},
		{"videos with many labels are found", manyLabels},
		{"labels of any size and with any character are found", oddLabels},
		{"labels follow the metadata when it changes", labelsFollow},
		{"a deleted video leaves no labels", deletionRemovesLabels},
		{"a rare label is found among frequent ones by one page", rareAmongFrequent},
	})
}

// indexed returns how many rows the index has for videos.
func indexed(t *testing.T, st *store.Store) (n int) {
	t.Helper()
	if err := st.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM metadata_index`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// randomMetadata has few keys and values, so that many videos match.
func randomMetadata(r *rand.Rand) json.RawMessage {
	values := []string{`"x"`, `"y"`, `1`, `"1"`, `1.0`, `true`, `"true"`, `null`, `{"a":"x"}`, `["x"]`, `"\u0078"`, `""`, `"x\u0000"`}
	var members []string
	for _, key := range []string{"a", "b", "c", ""} {
		if r.IntN(3) > 0 {
			members = append(members, fmt.Sprintf("%q:%s", key, values[r.IntN(len(values))]))
		}
	}
	switch r.IntN(10) {
	case 0:
		return nil
	case 1: // many
		for i := range 70 {
			members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
		}
	case 2:
		members = append(members, `"a":"y"`, `"a":"x"`)
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

func randomFilter(r *rand.Rand) (f video.Filter) {
	values := []string{"x", "y", "1", "1.0", "true", "null", "", "x\x00", "other"}
	for range 1 + r.IntN(3) {
		f.Labels = append(f.Labels, video.Label{Key: []string{"a", "b", "c", ""}[r.IntN(4)], Value: values[r.IntN(len(values))]})
	}
	if r.IntN(3) == 0 {
		f.Status = video.Statuses[r.IntN(len(video.Statuses))]
	}
	return f
}

// indexAgreesWithMetadata stores random videos, and compares random searches with what the metadata of all of
// them says.
func indexAgreesWithMetadata(t *testing.T, st *store.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var all []video.Video
	change(t, st, func(tx *store.Tx) error {
		for range 300 {
			v := newVideo()
			v.CreatedAt = noon.Add(time.Duration(r.IntN(100)) * time.Millisecond) // some are of equal age
			v.Metadata, v.Status = randomMetadata(r), video.Statuses[r.IntN(len(video.Statuses))]
			if r.IntN(10) == 0 {
				v.Tenant = "acme"
			}
			if err := Insert(t.Context(), tx, v); err != nil {
				return err
			}
			if r.IntN(10) == 0 {
				if err := tx.MarkDeleted(t.Context(), v.ID, noon); err != nil {
					return err
				}
				continue
			}
			all = append(all, v)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b video.Video) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(string(b.ID), string(a.ID))
	})
	for range 150 {
		f := randomFilter(r)
		got, _ := whole(t, st, f, 1+r.IntN(40))
		wantIDs(t, got, nil, fitting(all, f)...)
		if t.Failed() {
			t.Fatalf("for %+v", f)
		}
	}
}

// fitting returns the videos of the default tenant that a filter selects.
func fitting(all []video.Video, f video.Filter) (ids []video.ID) {
	for _, v := range all {
		if v.Tenant == video.DefaultTenant && (f.Status == "" || f.Status == v.Status) && f.Fits(v.Metadata) {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

func manyLabels(t *testing.T, st *store.Store) {
	var members []string
	for i := range 1_000 {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	many := labelled(`{` + strings.Join(members, ",") + `}`)
	first, few, second := aged(t, st, time.Hour, many), aged(t, st, time.Minute, labelled(`{"k999":"999"}`)), aged(t, st, 0, many)
	for _, limit := range []int{1, 2, 3} {
		got, _ := whole(t, st, video.Filter{Labels: []video.Label{{Key: "k999", Value: "999"}}}, limit)
		wantIDs(t, got, nil, first, few, second)
		got, _ = whole(t, st, video.Filter{Labels: []video.Label{{Key: "k999", Value: "999"}, {Key: "k0", Value: "0"}}}, limit)
		wantIDs(t, got, nil, first, second)
	}
}

func oddLabels(t *testing.T, st *store.Store) {
	long := strings.Repeat("long", 3_000)
	for _, l := range []video.Label{{Key: "", Value: ""}, {Key: "a\x00b", Value: "c\x00"}, {Key: long, Value: "x"}, {Key: "x", Value: long}, {Key: "ключ", Value: "🎬 é"},
		{Key: "'; --", Value: "$1 %"}, {Key: "n", Value: "-1e-300"}} {
		text, err := json.Marshal(map[string]string{l.Key: l.Value})
		if err != nil {
			t.Fatal(err)
		}
		id := aged(t, st, 0, labelled(string(text)))
		got, pages := whole(t, st, video.Filter{Labels: []video.Label{l}}, 1)
		if wantIDs(t, got, nil, id); pages != 1 {
			t.Errorf("it takes %d pages", pages)
		}
		got, _ = whole(t, st, video.Filter{Labels: []video.Label{{Key: l.Key, Value: l.Value + "x"}}}, 1)
		wantIDs(t, got, nil)
	}
	if got, _ := whole(t, st, video.Filter{Labels: []video.Label{{Key: "\xff", Value: "\xff"}}}, 1); len(got) > 0 {
		t.Errorf("bytes that are no text are found in %v", got)
	}
}

func deletionRemovesLabels(t *testing.T, st *store.Store) {
	marked, removed, kept := aged(t, st, 2, labelled(`{"a":"x"}`)), aged(t, st, 1, labelled(`{"a":"x"}`)), aged(t, st, 0, labelled(`{"a":"x"}`))
	change(t, st, func(tx *store.Tx) error {
		if err := tx.MarkDeleted(t.Context(), marked, noon); err != nil {
			return err
		}
		if err := RemoveLabels(t.Context(), tx, marked); err != nil {
			return err
		}
		return tx.RemoveVideo(t.Context(), removed)
	})
	if n := indexed(t, st); n != 1 {
		t.Errorf("the index has %d rows, want 1", n)
	}
	got, _ := whole(t, st, video.Filter{Labels: []video.Label{{Key: "a", Value: "x"}}}, 1)
	wantIDs(t, got, nil, kept)
}

// insertMany stores n videos, one each millisecond before noon, newest first, with what metadata says of each.
func insertMany(t *testing.T, st *store.Store, n int, metadata func(i int) string) []video.ID {
	t.Helper()
	ids := make([]video.ID, n)
	change(t, st, func(tx *store.Tx) error {
		for i := range n {
			v := newVideo()
			v.ID = video.ID(fmt.Sprint("00000000-0000-7000-8000-", 100000000000+i))
			v.CreatedAt, v.Metadata = noon.Add(-time.Duration(i)*time.Millisecond), json.RawMessage(metadata(i))
			if err := Insert(t.Context(), tx, v); err != nil {
				return err
			}
			ids[i] = v.ID
		}
		return nil
	})
	return ids
}

func rareAmongFrequent(t *testing.T, st *store.Store) {
	ids := insertMany(t, st, 2_500, func(i int) string {
		return fmt.Sprintf(`{"all":"x","half":%d,"rare":%d}`, i%2, i/2400-i/2401)
	})
	change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(t.Context(), ids[2_450], video.Fail, nil) })
	all, half, rare := video.Label{Key: "all", Value: "x"}, video.Label{Key: "half", Value: "0"}, video.Label{Key: "rare", Value: "1"}
	for name, tt := range map[string]struct {
		filter video.Filter
		want   []video.ID
	}{
		"a rare one first":                   {video.Filter{Labels: []video.Label{rare, half, all}}, ids[2_400:2_401]},
		"a rare one last":                    {video.Filter{Labels: []video.Label{all, half, rare}}, ids[2_400:2_401]},
		"a rare status":                      {video.Filter{Labels: []video.Label{all, half}, Status: video.Fail}, ids[2_450:2_451]},
		"a frequent status":                  {video.Filter{Labels: []video.Label{all, rare}, Status: video.PendingUpload}, ids[2_400:2_401]},
		"one that does not exist":            {video.Filter{Labels: []video.Label{all, {Key: "all", Value: "y"}}}, nil},
		"one that does not exist, elsewhere": {video.Filter{Labels: []video.Label{all, {Key: "none", Value: "y"}}}, nil},
	} {
		got, pages := whole(t, st, tt.filter, 10)
		if !slices.Equal(got, tt.want) || pages != 1 {
			t.Errorf("%s: %q in %d pages, want %q in one", name, got, pages, tt.want)
		}
	}
}

// searchEndsEarly has two labels that many videos have, but only the oldest has both.
func searchEndsEarly(t *testing.T, st *store.Store) {
	const n = 5_000
	ids := insertMany(t, st, n, func(i int) string { return fmt.Sprintf(`{"a":%d,"b":%d}`, i%2, (i+i/4999)%2) })
	f := video.Filter{Labels: []video.Label{{Key: "a", Value: "1"}, {Key: "b", Value: "0"}}}
	if got, next := listed(t, st, f, video.Cursor{}, 1); len(got) != 0 || next == (video.Cursor{}) {
		t.Errorf("the first page has %v and goes on at %v; want it to end early", got, next)
	}
	got, _ := whole(t, st, f, 1)
	wantIDs(t, got, nil, ids[n-1])
}
