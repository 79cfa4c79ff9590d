package words

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// index is the index on one database.
type index struct {
	t  *testing.T
	st *store.Store
}

func (x index) change(f func(*store.Tx) error) {
	x.t.Helper()
	if err := x.st.InTx(x.t.Context(), f); err != nil {
		x.t.Fatal(err)
	}
}

// video stores a video of a tenant that was created at a time, with a text in English.
func (x index) video(tenant video.Tenant, at time.Time, texts ...string) video.Video {
	x.t.Helper()
	v := storetest.NewVideo("240p")
	v.Tenant, v.CreatedAt = tenant, at
	x.change(func(tx *store.Tx) error { return tx.InsertVideo(x.t.Context(), v) })
	x.add(v, "captions-en-1.vtt", "en", texts...)
	return v
}

func (x index) add(v video.Video, file, language string, texts ...string) {
	x.t.Helper()
	x.change(func(tx *store.Tx) error {
		return Add(x.t.Context(), tx, v, video.File{Name: file, Kind: video.SubtitlesKind, Language: language}, speech(texts...))
	})
}

// find returns the videos that a search finds, page by page, with where it finds them.
func (x index) find(tenant video.Tenant, query string, ascending bool) (ids []video.ID, where []string) {
	x.t.Helper()
	q, _ := Parse(query)
	err := x.st.Read(x.t.Context(), func(queries store.Queries) error {
		s := NewSearch(queries, !x.st.SingleWriter(), tenant, q)
		var last *int64
		for {
			places, err := s.Next(x.t.Context(), last, ascending, 2)
			if err != nil || len(places) == 0 {
				return err
			}
			for _, p := range places {
				found, err := s.Matches(x.t.Context(), p.Number)
				if err != nil {
					return err
				}
				for _, m := range found {
					where = append(where, fmt.Sprint(m.Language, " ", m.Start.Seconds(), "-", m.End.Seconds(), " ", m.Text))
				}
				ids, last = append(ids, p.Video), &p.Number
			}
		}
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return ids, where
}

func (x index) want(tenant video.Tenant, query string, want ...video.ID) {
	x.t.Helper()
	got, _ := x.find(tenant, query, false)
	if !slices.Equal(got, want) {
		x.t.Errorf("%q is said in %q; want %q", query, got, want)
	}
	slices.Reverse(want)
	if got, _ := x.find(tenant, query, true); !slices.Equal(got, want) {
		x.t.Errorf("%q is said, the oldest first, in %q; want %q", query, got, want)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		x := index{t, st}
		old := x.video("acme", noon, "Good morning", "It's raining in Köln")
		young := x.video("acme", noon.Add(time.Hour), "Rain again", "raining cats and dogs")
		middle := x.video("acme", noon.Add(time.Minute), "raining here", "猫が好きです")
		other := x.video("other", noon.Add(time.Second), "raining elsewhere "+strings.TrimPrefix(ownWord("acme"), "\ue000")+" "+ownWord("acme"))
		x.want("acme", "RAINING", young.ID, middle.ID, old.ID)
		x.want("acme", "raining koln", old.ID)
		x.want("acme", "猫", middle.ID)
		x.want("acme", "好き", middle.ID)
		x.want("acme", "snow")
		x.want("other", "raining", other.ID)
		x.want("third", "raining")
		if _, where := x.find("acme", "cats rain", false); !slices.Equal(where, []string{"en 0-4 Rain again raining cats and dogs"}) {
			t.Errorf("found at %q", where)
		}
	})
}

func TestChangesOfTheIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		x := index{t, st}
		v := x.video("acme", noon, slices.Repeat([]string{"one", "two"}, 40)...)
		x.add(v, "captions-de-1.vtt", "de", "eins one")
		if _, where := x.find("acme", "one", false); len(where) != MaxMatches || where[0] != "en 0-2 one" {
			t.Errorf("found at %q", where)
		}
		x.change(func(tx *store.Tx) error { return Remove(t.Context(), tx, v.ID, "captions-en-1.vtt") })
		if _, where := x.find("acme", "one", false); !slices.Equal(where, []string{"de 0-2 eins one"}) {
			t.Errorf("after a removal found at %q", where)
		}
		for range 2 * maxFiles { // places are used again
			x.add(v, "captions-de-1.vtt", "de", "zwei")
		}
		x.want("acme", "one")
		x.want("acme", "zwei", v.ID)
		x.change(func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), v.ID) })
		x.want("acme", "zwei")
		var left int
		if err := st.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM said_block) + (SELECT count(*) FROM said_video)`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d rows are left, %v", left, err)
		}
	})
}

// Videos of one moment have numbers of their own, also when there are more than fit into it.
func TestManyVideosOfOneMoment(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		x := index{t, st}
		var all []video.ID
		for range 20 {
			all = append(all, x.video("acme", noon, "hello").ID)
		}
		got, _ := x.find("acme", "hello", true)
		if !slices.Equal(got, all) {
			t.Errorf("found %q; want %q", got, all)
		}
	})
}

func TestCarry(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		x := index{t, st}
		v, hidden := x.video("acme", noon, "old words"), x.video("acme", noon.Add(time.Hour), "new words")
		x.add(v, "captions-de-1.vtt", "de", "uploaded words")
		x.add(hidden, "captions-fr-1.vtt", "fr", "mots")
		v.Files = nil
		for _, name := range []string{"captions-de-1.vtt", "captions-fr-1.vtt"} {
			v.Files = append(v.Files, video.File{Name: name, Kind: video.SubtitlesKind})
		}
		x.change(func(tx *store.Tx) error { return Carry(t.Context(), tx, v, hidden.ID) })
		x.change(func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), hidden.ID) })
		x.want("acme", "old")
		x.want("acme", "new")
		x.want("acme", "uploaded", v.ID)
		x.want("acme", "mots", v.ID)
	})
}
