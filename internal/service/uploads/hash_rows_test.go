package uploads

import (
	"context"
	"crypto/sha256"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestHashRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		id := storetest.Stored(t, st, video.PendingUpload, "720p").ID
		change := func(f func(context.Context, *store.Tx) error) {
			t.Helper()
			storetest.Change(t, st, func(tx *store.Tx) error { return f(ctx, tx) })
		}
		read := func(bytes int64) *runningHash {
			t.Helper()
			h, err := readHash(ctx, st.Queries, id, bytes)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		begin := func(token string) {
			t.Helper()
			change(func(ctx context.Context, tx *store.Tx) error {
				return insertHash(ctx, tx, id, &runningHash{Hash: sha256.New(), token: token})
			})
		}
		save := func(h *runningHash) {
			t.Helper()
			_, _ = h.Write([]byte("bytes"))
			change(func(ctx context.Context, tx *store.Tx) error { return saveHash(ctx, tx, id, h) })
		}
		begin("one")
		early := read(0)
		save(read(0))
		if h := read(5); h == nil || h.token != "one" || read(4) != nil {
			t.Fatalf("after five bytes it is %+v", h)
		}
		begin("two")
		if save(early); read(5) != nil || read(0) != nil {
			t.Error("a request of an earlier upload has left a hash")
		}
		change(func(ctx context.Context, tx *store.Tx) error { return insertWholeHash(ctx, tx, id, "etag", "sum") })
		if read(0) != nil {
			t.Error("the hash of a whole file is continued")
		}
		for _, take := range [][2]string{{"etag", "sum"}, {"etag", ""}} {
			change(func(ctx context.Context, tx *store.Tx) error {
				got, err := takeHash(ctx, tx, id, take[0])
				if got != take[1] {
					t.Errorf("the hash is %q, want %q", got, take[1])
				}
				return err
			})
		}
		change(func(ctx context.Context, tx *store.Tx) error { return insertWholeHash(ctx, tx, id, "etag", "sum") })
		change(func(ctx context.Context, tx *store.Tx) error {
			got, err := takeHash(ctx, tx, id, "other")
			if got != "" {
				t.Errorf("another file has the hash %q", got)
			}
			return err
		})
	})
}
