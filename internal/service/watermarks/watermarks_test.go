package watermarks

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// actor may do everything for a tenant.
func actor(tenant video.Tenant) auth.Actor { return auth.Actor{Tenant: tenant, Scopes: auth.Scopes} }

// dot is a picture of a watermark.
var dot = Picture{PNG: []byte("png"), Width: 40, Height: 20}

func newService(st *store.Store) *Service {
	return New(st, func() time.Time { return noon })
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Code != code {
		t.Errorf("the error is %v; want %s", err, code)
	}
}

func TestALifeOfAWatermark(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, s, acme := t.Context(), newService(st), actor("acme")
		w, err := s.Add(ctx, acme, " Logo ", dot)
		if err != nil || w.Name != "Logo" || w.Width != 40 || w.Height != 20 {
			t.Fatalf("Add = %+v, %v", w, err)
		}
		if all, err := s.List(ctx, acme); err != nil || len(all) != 1 || all[0] != w {
			t.Errorf("List = %+v, %v; want %+v", all, err, w)
		}
		if all, err := s.List(ctx, actor("zoo")); err != nil || len(all) != 0 {
			t.Errorf("another tenant sees %+v, %v", all, err)
		}
		_, err = s.For(ctx, "zoo", &video.WatermarkChoice{ID: w.ID})
		wantCode(t, err, "invalid_request")
		wantCode(t, s.Delete(ctx, actor("zoo"), w.ID), "watermark_not_found")
		wantCode(t, s.SetUsual(ctx, "zoo", &video.WatermarkChoice{ID: w.ID}), "watermark_not_found")

		if mark, err := s.For(ctx, "acme", nil); err != nil || mark != nil {
			t.Errorf("a video that chooses none gets %+v, %v", mark, err)
		}
		if err := s.SetUsual(ctx, "acme", &video.WatermarkChoice{ID: w.ID, Width: new(0.2)}); err != nil {
			t.Fatal(err)
		}
		mark, err := s.For(ctx, "acme", nil)
		if err != nil || mark == nil || mark.ID != w.ID || mark.Width != 0.2 || mark.Aspect != 2 {
			t.Fatalf("a video that chooses none gets %+v, %v", mark, err)
		}
		if refused, err := s.For(ctx, "acme", &video.WatermarkChoice{}); err != nil || refused != nil {
			t.Errorf("a video that refuses one gets %+v, %v", refused, err)
		}
		v := video.Video{ID: video.ID(uuid.NewString()), Tenant: "acme", Filename: "a.mp4", Status: video.PendingUpload, CreatedAt: noon, UploadExpiresAt: noon, Watermark: mark}
		change(t, st, func(tx *store.Tx) error { return tx.InsertVideo(ctx, v) })

		if err := s.Delete(ctx, acme, w.ID); err != nil {
			t.Fatal(err)
		}
		if mark, err := s.For(ctx, "acme", nil); err != nil || mark != nil {
			t.Errorf("after its deletion new videos get %+v, %v", mark, err)
		}
		wantCode(t, s.Delete(ctx, acme, w.ID), "watermark_not_found")
		remove := func() {
			t.Helper()
			if err := RemoveUnused(ctx, st, noon.Add(2*unusedGrace)); err != nil {
				t.Fatal(err)
			}
		}
		remove()
		if stored, err := st.Video(ctx, v.ID); err != nil || stored.Watermark == nil || *stored.Watermark != *mark {
			t.Errorf("the video has %+v, %v; want %+v", stored.Watermark, err, mark)
		}
		if picture, err := PictureOf(ctx, st.Queries, w.ID); err != nil || len(picture) == 0 {
			t.Errorf("the picture of a video is gone: %v", err)
		}
		change(t, st, func(tx *store.Tx) error {
			return errors.Join(tx.MarkDeleted(ctx, v.ID, noon), tx.RemoveVideo(ctx, v.ID))
		})
		remove()
		_, err = PictureOf(ctx, st.Queries, w.ID)
		wantCode(t, err, "watermark_not_found")
	})
}

func change(t *testing.T, st *store.Store, f func(*store.Tx) error) {
	t.Helper()
	if err := st.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func TestAPictureIsNotTooLarge(t *testing.T) {
	t.Parallel()
	_, err := newService(nil).Add(t.Context(), actor("acme"), "", Picture{PNG: make([]byte, maxStored+1), Width: 1, Height: 1})
	wantCode(t, err, "invalid_picture")
}

func TestATenantHasSoManyWatermarks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := newService(st)
		for range MaxPerTenant {
			if _, err := s.Add(t.Context(), actor("acme"), "", dot); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Add(t.Context(), actor("acme"), "", dot)
		wantCode(t, err, "limit_reached")
		if _, err := s.Add(t.Context(), actor("zoo"), "", dot); err != nil {
			t.Errorf("another tenant: %v", err)
		}
	})
}

func TestWatermarksAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx := t.Context()
		_, errList := list(ctx, tx.Queries, "a")
		_, errUsual := usualOf(ctx, tx.Queries, "a")
		_, errPicture := PictureOf(ctx, tx.Queries, "a")
		for _, err := range []error{errPicture, markDeleted(ctx, tx, "a", "b", noon)} {
			if video.KindOf(err) != video.NotFound {
				return fmt.Errorf("a watermark that does not exist: %w", err)
			}
		}
		return errors.Join(errList, errUsual, removeUnused(ctx, tx, noon), setUsual(ctx, tx, "a", nil))
	})
}
