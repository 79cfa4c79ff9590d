package catalog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

// say gives a video captions with one cue.
func say(b *servicetest.Rig, id video.ID, language, text string) {
	b.T.Helper()
	_, _, _, err := b.Captions.Put(b.T.Context(), b.By, id, captions.Upload{Language: language, Text: []byte("WEBVTT\n\n00:01.000 --> 00:02.000\n" + text + "\n")})
	b.Must(err)
}

// wantSaid reads all pages of a search and wants these videos.
func wantSaid(b *servicetest.Rig, by auth.Actor, f video.Filter, want ...video.ID) {
	b.T.Helper()
	f.Order.By = video.BySaid
	var got []video.ID
	var after video.Cursor
	for {
		page, err := b.Catalog.List(b.T.Context(), by, f, after, 2)
		b.Must(err)
		for _, s := range page.Videos {
			got = append(got, s.Video.ID)
			if len(s.Matches) == 0 || s.Matches[0].Start != time.Second {
				b.T.Errorf("%s is found without a place: %+v", s.Video.ID, s.Matches)
			}
		}
		if page.Next == (video.Cursor{}) {
			break
		}
		var err2 error
		after, err2 = video.ParseCursor("cursor", page.Next.String())
		b.Must(err2)
	}
	if !slices.Equal(got, want) {
		b.T.Errorf("%+v lists %q; want %q", f, got, want)
	}
}

func TestListsOfWhatIsSaid(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	var ids []video.ID
	for i := range 5 {
		v := b.Create(video.Draft{Title: fmt.Sprint("film ", i), IsPublic: i%2 == 0, Tags: []string{fmt.Sprint("tag", i%2)}}).Video
		b.Advance(time.Second)
		say(b, v.ID, "en", "the same words")
		ids = append(ids, v.ID)
	}
	a, c, d, e, f := ids[0], ids[1], ids[2], ids[3], ids[4]
	wantSaid(b, b.By, video.Filter{Said: "Words same"}, f, e, d, c, a)
	wantSaid(b, b.By, video.Filter{Said: "words", Order: video.Order{Ascending: true}}, a, c, d, e, f)
	wantSaid(b, b.By, video.Filter{Said: "words", Tags: []string{"tag1"}}, e, c)
	wantSaid(b, b.By, video.Filter{Said: "words", Public: new(true), Words: []string{"film"}}, f, d, a)
	wantSaid(b, b.By, video.Filter{Said: "words", Status: video.Ready})
	wantSaid(b, b.By, video.Filter{Said: "words", CreatedFrom: servicetest.Start.Add(3 * time.Second)}, f, e)
	wantSaid(b, b.By, video.Filter{Said: "silence"})
	wantSaid(b, b.Actor(auth.Key{Tenant: "other"}), video.Filter{Said: "words"})

	b.Must(b.DeleteVideo(t.Context(), b.By, e))
	say(b, d, "en", "something else")
	say(b, c, "de", "andere Worte")
	b.Must(b.Captions.Delete(t.Context(), b.By, a, "en"))
	wantSaid(b, b.By, video.Filter{Said: "words"}, f, c)
	wantSaid(b, b.By, video.Filter{Said: "worte"}, c)
	wantSaid(b, b.By, video.Filter{Said: "something"}, d)
}

// Captions from before there was an index are found after a look at all videos, whatever the index has instead.
func TestCaptionsAreIndexedLater(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	first, second := b.Create(video.Draft{}).Video.ID, b.Create(video.Draft{IsPublic: true}).Video.ID
	say(b, first, "en", "the same words")
	say(b, second, "de", "die gleichen words")
	b.Must(b.Store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "forget", `DELETE FROM said_block`)
		return err
	}))
	wantSaid(b, b.By, video.Filter{Said: "words"})
	x := words.Indexer{Store: b.Store, Blobs: b.Blobs, Now: b.Now}
	for _, want := range []int{2, 0} {
		if n, err := x.IndexMissing(ctx); err != nil || n != want {
			t.Errorf("indexed %d files, %v; want %d", n, err, want)
		}
	}
	wantSaid(b, b.By, video.Filter{Said: "words"}, second, first)
}
