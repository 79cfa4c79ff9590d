package playback_test

import (
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// countingStore counts what is opened.
type countingStore struct {
	*disk.Store
	opened atomic.Int64
}

func (c *countingStore) Open(ctx context.Context, key string) (blob.Object, error) {
	c.opened.Add(1)
	return c.Store.Open(ctx, key)
}

const someCaptions = "captions-en-0123456789ab"

// documents are files of a stream that are made.
var documents = []string{"master.m3u8", "manifest.mpd", "720p.m3u8", "720p-iframes.m3u8", someCaptions + ".m3u8", someCaptions + "-0.vtt"}

// withDocuments adds a public video with captions. Its rendition is no recent one.
func withDocuments(t *testing.T, b *servicetest.Rig) video.ID {
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	putFile(b, "public/"+string(id)+"/720p.mp4", makeRendition(t))
	putFile(b, "public/"+string(id)+"/"+someCaptions+".vtt", []byte("WEBVTT\n\n00:01.000 --> 00:09.000\nHello\n"))
	return id
}

// Many clients ask for a HEAD, or whether what they have is current; and many for the same.
func TestDocumentsAreMadeOnceForThoseWhoRead(t *testing.T) {
	t.Parallel()
	store := &countingStore{}
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { store.Store = s; return store })
	id := withDocuments(t, b)
	for _, name := range documents {
		look := func() playback.Content {
			t.Helper()
			c, err := b.Player.Open(t.Context(), playback.Access{Video: id}, name)
			b.Must(err)
			return c
		}
		if name == someCaptions+"-0.vtt" { // where the texts end is known, or is looked for once
			_, err := b.OpenPublic(t.Context(), id, someCaptions+"-1.vtt")
			b.Must(err)
		}
		before := store.opened.Load()
		first := look()
		if first.Info().Size != playback.UnknownSize || store.opened.Load() != before {
			t.Errorf("%s is made for a client that reads nothing", name)
		}
		text := servicetest.ReadAll(t, first)
		made := store.opened.Load()
		second := look()
		if info := second.Info(); info.Size != int64(len(text)) || info.ETag != first.Info().ETag || info.ETag == "" {
			t.Errorf("%s of %d bytes is %+v at first, and then %+v", name, len(text), first.Info(), info)
		}
		if again := servicetest.ReadAll(t, second); again != text || store.opened.Load() != made {
			t.Errorf("%s is made again", name)
		}
	}
}

// The version of a document changes with what it is made from.
func TestTheVersionOfADocument(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := withDocuments(t, b)
	etags := func() map[string]string {
		all := map[string]string{}
		for _, name := range documents {
			c, err := b.OpenPublic(t.Context(), id, name)
			b.Must(err)
			all[name] = c.Info().ETag
		}
		return all
	}
	before := etags()
	putFile(b, "public/"+string(id)+"/240p.mp4", makeSilentRendition(t))
	now := etags()
	for _, name := range documents {
		if changed := now[name] != before[name]; changed == strings.HasSuffix(name, "-0.vtt") {
			t.Errorf("with one more rendition, the version of %s has changed: %t", name, changed)
		}
	}
	putFile(b, "public/"+string(id)+"/"+someCaptions+".vtt", []byte("WEBVTT\n\n00:01.000 --> 00:02.000\nBye\n"))
	if name := someCaptions + "-0.vtt"; etags()[name] == now[name] {
		t.Errorf("of other captions, %s has the same version", name)
	}
}

// inTurn is a request of a client.
func inTurn(t *testing.T, l *limit.Limits, address string) (context.Context, *limit.Turn) {
	ctx, turn := l.Begin(t.Context(), limit.Principal{Client: netip.MustParsePrefix(address)})
	t.Cleanup(turn.End)
	return ctx, turn
}

// One client can neither compute all the time nor fill the memory with answers that it does not read.
func TestDocumentsCountForTheirReader(t *testing.T) {
	t.Parallel()
	rendition := makeRendition(t)
	synctest.Test(t, func(t *testing.T) {
		b, l := servicetest.New(t), limit.New(100)
		id := b.Create(video.Draft{IsPublic: true}).Video.ID
		putFile(b, "public/"+string(id)+"/720p.mp4", rendition)
		open := func(address, name string) error {
			ctx, turn := inTurn(t, l, address)
			defer turn.End()
			_, err := b.Services.OpenPublic(ctx, id, name)
			return err
		}
		const mallory, alice = "192.0.2.1/32", "192.0.2.2/32"
		var held []*limit.Turn
		for { // all places that one client gets
			ctx, turn := inTurn(t, l, mallory)
			if turn.Work(ctx) != nil {
				break
			}
			held = append(held, turn)
		}
		servicetest.WantCode(t, open(mallory, "master.m3u8"), video.RateLimited, "rate_limited")
		for _, turn := range held {
			turn.End()
		}
		time.Sleep(time.Minute)
		b.Must(open(alice, "master.m3u8"))

		ctx, reader := inTurn(t, l, mallory)
		for n := int64(1 << 20); n > 0; n /= 2 { // to the last byte
			for reader.Memory(ctx, n) == nil {
			}
		}
		servicetest.WantCode(t, open(mallory, "master.m3u8"), video.RateLimited, "rate_limited")
		b.Must(open(alice, "master.m3u8"))
		reader.End()
		b.Must(open(mallory, "master.m3u8"))
	})
}

// One client cannot have all files that are open for playback.
func TestOpenFilesCountForTheirReader(t *testing.T) {
	t.Parallel()
	rendition := makeRendition(t)
	synctest.Test(t, func(t *testing.T) {
		b, l := servicetest.New(t), limit.New(600)
		id := b.Create(video.Draft{IsPublic: true}).Video.ID
		putFile(b, "public/"+string(id)+"/720p.mp4", rendition)
		open := func(address, name string) error {
			ctx, _ := inTurn(t, l, address)
			c, err := b.Services.OpenPublic(ctx, id, name)
			if err == nil {
				err = c.Close() // which the turn does not know: the request goes on
			}
			return err
		}
		n := 0
		for ; n < 600 && open("192.0.2.1/32", []string{"720p.mp4", "720p-0.m4s"}[n%2]) == nil; n++ {
		}
		if n != 300+128 {
			t.Errorf("one client has %d of 600 files; want those of who comes first, and its share", n)
		}
		servicetest.WantCode(t, open("192.0.2.1/32", "720p.mp4"), video.RateLimited, "rate_limited")
		b.Must(open("192.0.2.1/32", "master.m3u8")) // no file is open while it is read
		b.Must(open("192.0.2.2/32", "720p-0.m4s"))
	})
}

// What webvtt allows within a window is what a segment has.
func TestTheWindowOfTextsIsASegment(t *testing.T) {
	t.Parallel()
	if stream.TextLength != webvtt.Window {
		t.Errorf("segments last %s, and texts are bounded within %s", stream.TextLength, webvtt.Window)
	}
}
