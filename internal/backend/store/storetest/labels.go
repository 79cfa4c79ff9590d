package storetest

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

func labelTests() []test {
	return []test{
		{"the index answers as reading all metadata does", indexAgreesWithMetadata},
		{"videos from before the index are found, while it is built and after", backfillGoesOn},
		{"videos with too many labels are found", tooManyLabels},
		{"labels of any size and with any character are found", oddLabels},
		{"labels follow the metadata when it changes", labelsFollow},
		{"a deleted video leaves no labels", deletionRemovesLabels},
		{"a rare label is found among frequent ones by one page", rareAmongFrequent},
		{"labels without a common video are told apart by one page", nothingInCommon},
	}
}

// forget makes the index forget some videos, as if an older process had stored them.
func forget(t *testing.T, st *store.Store, ids ...video.ID) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error {
		for _, id := range ids {
			for _, text := range []string{`DELETE FROM label WHERE video_id = $1`, `UPDATE video SET labelled = NULL WHERE id = $1`} {
				if _, err := tx.ExecContext(t.Context(), text, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// indexed returns how many rows the index has for videos.
func indexed(t *testing.T, st *store.Store) (n int) {
	t.Helper()
	if err := st.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM label`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func backfill(t *testing.T, st *store.Store, limit int) int {
	t.Helper()
	n, err := st.Labels().Backfill(t.Context(), limit)
	if err != nil {
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
	case 1: // more than are indexed
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

// indexAgreesWithMetadata stores random videos, some of which are indexed, and compares random
// searches with what the metadata of all of them says.
func indexAgreesWithMetadata(t *testing.T, st *store.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var all []video.Video
	var unindexed []video.ID
	change(t, st, func(tx *store.Tx) error {
		for range 300 {
			v := newVideo()
			v.CreatedAt = noon.Add(time.Duration(r.IntN(100)) * time.Millisecond) // some are of equal age
			v.Metadata, v.Status = randomMetadata(r), video.Statuses[r.IntN(len(video.Statuses))]
			if r.IntN(10) == 0 {
				v.Tenant = "acme"
			}
			if err := tx.InsertVideo(t.Context(), v); err != nil {
				return err
			}
			switch {
			case r.IntN(10) == 0:
				if err := tx.MarkDeleted(t.Context(), v.ID, noon); err != nil {
					return err
				}
				continue
			case r.IntN(4) == 0:
				unindexed = append(unindexed, v.ID)
			}
			all = append(all, v)
		}
		return nil
	})
	forget(t, st, unindexed...)
	slices.SortFunc(all, func(a, b video.Video) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(string(b.ID), string(a.ID))
	})
	for len(unindexed) > 0 {
		for range 30 {
			f := randomFilter(r)
			got, _ := whole(t, st, f, 1+r.IntN(40))
			wantIDs(t, got, nil, fitting(all, f)...)
			if t.Failed() {
				t.Fatalf("for %q", f)
			}
		}
		if n := backfill(t, st, 60); n < 60 {
			break
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

func backfillGoesOn(t *testing.T, st *store.Store) {
	var want, old []video.ID // newest first
	for i := range 10 {
		id := aged(t, st, -time.Duration(i)*time.Second, labelled(fmt.Sprintf(`{"a":"x","n":%d}`, i)))
		if want = append(want, id); i%3 > 0 {
			old = append(old, id)
		}
	}
	gone := aged(t, st, 0, labelled(`{"a":"x"}`))
	empty := aged(t, st, 0, nil)
	broken := aged(t, st, 0, labelled(`{"a":"x"`)) // somebody has edited the database
	forget(t, st, append(old, gone, empty, broken)...)
	change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), gone, noon) })
	f := video.Filter{Labels: []video.Label{{Key: "a", Value: "x"}}}
	for _, wantDone := range []int{4, 3, 0, 0} { // six of want, and the broken one
		for _, limit := range []int{1, 3, 100} {
			got, _ := whole(t, st, f, limit)
			wantIDs(t, got, nil, want...)
		}
		if n := backfill(t, st, 4); n != wantDone {
			t.Errorf("%d videos were indexed, want %d", n, wantDone)
		}
	}
	if n := indexed(t, st); n != 20 {
		t.Errorf("the index has %d rows, want 20", n)
	}
}

func tooManyLabels(t *testing.T, st *store.Store) {
	var members []string
	for i := range 1_000 {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	many := labelled(`{` + strings.Join(members, ",") + `}`)
	first, few, second := aged(t, st, time.Hour, many), aged(t, st, time.Minute, labelled(`{"k999":"999"}`)), aged(t, st, 0, many)
	forget(t, st, second)
	for range 2 {
		for _, limit := range []int{1, 2, 3} {
			got, _ := whole(t, st, video.Filter{Labels: []video.Label{{Key: "k999", Value: "999"}}}, limit)
			wantIDs(t, got, nil, first, few, second)
			got, _ = whole(t, st, video.Filter{Labels: []video.Label{{Key: "k999", Value: "999"}, {Key: "k0", Value: "0"}}}, limit)
			wantIDs(t, got, nil, first, second)
		}
		backfill(t, st, 10)
	}
	if n, left := indexed(t, st), backfill(t, st, 10); n != 1 || left != 0 {
		t.Errorf("the index has %d rows, and %d videos wait for it; want 1 and none", n, left)
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
		return tx.RemoveVideo(t.Context(), removed)
	})
	if n := indexed(t, st); n != 1 {
		t.Errorf("the index has %d rows, want 1", n)
	}
	got, _ := whole(t, st, video.Filter{Labels: []video.Label{{Key: "a", Value: "x"}}}, 1)
	wantIDs(t, got, nil, kept)
}

// insertMany stores n videos, one each millisecond before noon, that are not indexed. The metadata
// is an expression in SQL of the number i and the argument.
func insertMany(t *testing.T, st *store.Store, n int, metadata, arg string) []video.ID {
	t.Helper()
	var ids []video.ID
	for i := range n {
		ids = append(ids, video.ID(fmt.Sprint("00000000-0000-7000-8000-", 100000000000+i)))
	}
	change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `
			INSERT INTO video (id, tenant, filename, content_type, is_public, upscale, metadata, thumbnails, status, created_at, upload_expires_at)
			WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < CAST($1 AS BIGINT) - 1)
			SELECT '00000000-0000-7000-8000-' || (100000000000 + i), $2, 'film.mp4', 'video/mp4', TRUE, FALSE, `+metadata+`,
			       '[]', 'pending_upload', CAST($4 AS BIGINT) - i, 0
			  FROM numbers`, n, video.DefaultTenant, arg, noon.UnixMilli())
		return err
	})
	return ids
}

func rareAmongFrequent(t *testing.T, st *store.Store) {
	ids := insertMany(t, st, 2_500, `'{"all":"' || $3 || '","half":' || (i % 2) || ',"rare":' || (i / 2400 - i / 2401) || '}'`, "x")
	backfill(t, st, len(ids))
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

// nothingInCommon has two labels that many videos have, but at different times.
func nothingInCommon(t *testing.T, st *store.Store) {
	insertMany(t, st, 2_500, `'{"new":' || (i / 1250) || ',"old":"' || (i / 1250) || $3 || '"}'`, "!")
	backfill(t, st, 2_500)
	got, pages := whole(t, st, video.Filter{Labels: []video.Label{{Key: "new", Value: "0"}, {Key: "old", Value: "1!"}}}, 10)
	if len(got) > 0 || pages != 1 {
		t.Errorf("%d videos in %d pages, want none in one", len(got), pages)
	}
}

// searchEndsEarly has two labels that many videos have, but only the oldest has both.
func searchEndsEarly(t *testing.T, st *store.Store) {
	const n = 5_000
	ids := insertMany(t, st, n, `'{"a":' || (i % 2) || ',"b":"' || ((i + i / 4999) % 2) || $3 || '"}'`, "!")
	backfill(t, st, n)
	f := video.Filter{Labels: []video.Label{{Key: "a", Value: "1"}, {Key: "b", Value: "0!"}}}
	if got, next := listed(t, st, f, video.Cursor{}, 1); len(got) != 0 || next == (video.Cursor{}) {
		t.Errorf("the first page has %v and goes on at %v; want it to end early", got, next)
	}
	got, _ := whole(t, st, f, 1)
	wantIDs(t, got, nil, ids[n-1])
}

// scanEndsEarly has a video that is not found by the first page, because so much metadata is
// read before.
func scanEndsEarly(t *testing.T, st *store.Store) {
	ids := insertMany(t, st, 400, `'{"n":' || i || ',"filler":"' || $3 || '"}'`, strings.Repeat("x", 15<<10))
	f := video.Filter{Labels: []video.Label{{Key: "n", Value: "399"}}}
	if got, next := listed(t, st, f, video.Cursor{}, 1); len(got) != 0 || next == (video.Cursor{}) {
		t.Errorf("the first page has %v and goes on at %v; want it to end early", got, next)
	}
	got, _ := whole(t, st, f, 1)
	wantIDs(t, got, nil, ids[399])
}
