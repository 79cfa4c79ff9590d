// Package watermarks keeps the pictures that tenants have laid over their videos, and says which one a new video gets.
//
// A picture is small, so it is kept in the database: it is stored, backed up, moved and removed with its row. A video
// names its watermark. Deleting one hides it; its row goes when no video names it any more, because a resolution that is
// added later must look like the others.
package watermarks

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxPerTenant is how many watermarks a tenant may have.
	MaxPerTenant = 50
	// MaxSize is how many bytes an uploaded picture may have.
	MaxSize = 2 << 20
	// maxStored is how many bytes it may have as a PNG. A photo as WebP becomes much larger.
	maxStored = 8 << 20
	// maxName is how many characters a name may have.
	maxName = 100
)

// Watermark is a picture of a tenant.
type Watermark struct {
	ID            video.WatermarkID
	Tenant        video.Tenant
	Name          string
	Width, Height int // in pixels
	CreatedAt     time.Time
}

// Service is the watermarks of a database.
type Service struct {
	store *store.Store
	now   func() time.Time
}

// New returns the watermarks of a database.
func New(s *store.Store, now func() time.Time) *Service { return &Service{s, now} }

// Picture is the picture of a watermark. Spool has written the PNG itself.
type Picture struct {
	PNG           []byte
	Width, Height int // in pixels
}

// Add stores a picture. Without a name, it is called "Watermark".
func (s *Service) Add(ctx context.Context, by auth.Actor, name string, p Picture) (Watermark, error) {
	if err := by.Require(auth.Write); err != nil {
		return Watermark{}, err
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "Watermark"
	}
	if utf8.RuneCountInString(name) > maxName || strings.ContainsRune(name, 0) {
		return Watermark{}, video.InvalidFields(video.Fault{Field: "name", Code: "out_of_range", Message: fmt.Sprintf("must have 1 to %d characters, and no NUL", maxName)})
	}
	if len(p.PNG) > maxStored {
		return Watermark{}, &video.Error{Kind: video.Invalid, Code: "invalid_picture",
			Msg: fmt.Sprintf("As a PNG the picture would have more than %d MiB. Make it smaller, or simpler.", maxStored>>20)}
	}
	w := Watermark{
		ID: video.WatermarkID(uuid.Must(uuid.NewV7()).String()), Tenant: by.Tenant, Name: name,
		Width: p.Width, Height: p.Height, CreatedAt: s.now().UTC().Truncate(time.Millisecond),
	}
	return w, s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := insert(ctx, tx, w, p.PNG); err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionWatermarkAdd, Tenant: w.Tenant, Target: string(w.ID)})
	})
}

// List returns the watermarks of the actor's tenant, oldest first.
func (s *Service) List(ctx context.Context, by auth.Actor) ([]Watermark, error) {
	if err := by.Require(auth.Read); err != nil {
		return nil, err
	}
	return list(ctx, s.store.Queries, by.Tenant)
}

// Delete removes a watermark. Videos that have it keep it; new ones do not get it.
func (s *Service) Delete(ctx context.Context, by auth.Actor, id video.WatermarkID) error {
	if err := by.Require(auth.Delete); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.LockTenant(ctx, by.Tenant); err != nil {
			return err
		}
		usual, err := usualOf(ctx, tx.Queries, by.Tenant)
		if err != nil {
			return err
		}
		if usual != nil && usual.ID == id {
			if err := setUsual(ctx, tx, by.Tenant, nil); err != nil {
				return err
			}
		}
		if err := markDeleted(ctx, tx, by.Tenant, id, s.now()); err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionWatermarkDelete, Tenant: by.Tenant, Target: string(id)})
	})
}

// For returns the watermark of a new video: the one that its creator chose, else the tenant's usual one, else nil. A
// choice without an ID refuses the usual one.
func (s *Service) For(ctx context.Context, tenant video.Tenant, choice *video.WatermarkChoice) (*video.Watermark, error) {
	if choice == nil {
		usual, err := usualOf(ctx, s.store.Queries, tenant)
		if err != nil || usual == nil {
			return nil, err
		}
		choice = usual
	}
	if choice.ID == "" {
		return nil, nil
	}
	w, err := find(ctx, s.store.Queries, tenant, choice.ID)
	if video.KindOf(err) == video.NotFound {
		return nil, video.InvalidFields(video.Fault{Field: "watermark.id", Code: "watermark_not_found", Message: "must be the id of one of your watermarks"})
	}
	if err != nil {
		return nil, err
	}
	return choice.Watermark(float64(w.Width) / float64(w.Height)), nil
}

// SetUsual sets the watermark of the new videos of a tenant that choose none; nil: none.
func (s *Service) SetUsual(ctx context.Context, tenant video.Tenant, choice *video.WatermarkChoice) error {
	if choice != nil {
		if faults := choice.Check("watermark"); faults != nil {
			return video.InvalidFields(faults...)
		}
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.LockTenant(ctx, tenant); err != nil {
			return err
		}
		if choice != nil {
			if _, err := find(ctx, tx.Queries, tenant, choice.ID); err != nil {
				return err
			}
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionTenantWatermark, Tenant: tenant}); err != nil {
			return err
		}
		return setUsual(ctx, tx, tenant, choice)
	})
}

// unusedGrace is how old a deletion must be before its row goes. A create that has read the watermark before is over
// by then.
const unusedGrace = time.Hour

// RemoveUnused removes watermarks that were deleted and that no video names.
func RemoveUnused(ctx context.Context, s *store.Store, now time.Time) error {
	return s.InTx(ctx, func(tx *store.Tx) error { return removeUnused(ctx, tx, now.Add(-unusedGrace)) })
}
