package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// slowCopies is a store in which copies take as long as the test likes, as on
// S3, but not the moment in which they appear.
type slowCopies struct {
	*disk.Store
	begun chan string   // gets the target of each copy that was begun
	done  chan struct{} // each copy takes one
}

func (s *slowCopies) Prepare(ctx context.Context, from, to string) (blob.Prepared, error) {
	s.begun <- to
	select {
	case <-s.done:
		return &slowCopy{s, from, to}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type slowCopy struct {
	store    *slowCopies
	from, to string
}

func (c *slowCopy) Publish(ctx context.Context) (blob.Info, error) {
	return c.store.Copy(ctx, c.from, c.to, "")
}

func (*slowCopy) Discard() {}

// slowRig returns a rig with slow copies, and a video whose first rendition is
// just being copied.
func slowRig(t *testing.T) (b *servicetest.Rig, id video.ID, copies *slowCopies, published <-chan error) {
	t.Helper()
	copies = &slowCopies{begun: make(chan string, 10), done: make(chan struct{})}
	b = servicetest.NewOn(t, func(s *disk.Store) blob.Store { copies.Store = s; return copies })
	id = b.Processing(video.Draft{IsPublic: true}).ID
	b.Transcode(id, servicetest.Plan("720p", "240p"))
	rendition, err := pipeline.RenditionFile{Path: b.File(servicetest.Rendition), Width: 2, Height: 2, Duration: time.Second}, make(chan error, 1)
	v := b.Video(id)
	go func() { err <- b.PublishRendition(t.Context(), v, 0, rendition) }()
	if to := <-copies.begun; to != "public/"+string(id)+"/720p.mp4" {
		t.Fatalf("%s is being copied", to)
	}
	return b, id, copies, err
}

// A copy that takes minutes holds no lock: others write meanwhile, which on
// SQLite one transaction would prevent.
func TestOthersGoOnWhileARenditionIsCopied(t *testing.T) {
	t.Parallel()
	b, id, copies, published := slowRig(t)
	b.Create(video.Draft{})
	if _, err := b.OpenPublic(t.Context(), id, "720p.mp4"); video.KindOf(err) != video.NotFound {
		t.Errorf("a rendition that is being copied can be played: %v", err)
	}
	copies.done <- struct{}{}
	b.Must(<-published)
	o, err := b.OpenPublic(t.Context(), id, "720p.mp4")
	b.Must(err)
	if got := servicetest.ReadAll(t, o); got != servicetest.Rendition {
		t.Errorf("the rendition reads %q", got)
	}
}

// A deletion does not wait for the copy, and the copy never appears.
func TestRenditionThatIsDeletedWhileItIsCopiedNeverAppears(t *testing.T) {
	t.Parallel()
	b, id, copies, published := slowRig(t)
	b.Must(b.DeleteVideo(t.Context(), b.By, id))
	copies.done <- struct{}{}
	b.Must(<-published)
	if keys := b.Objects(); len(keys) != 0 {
		t.Errorf("objects left: %v", keys)
	}
}

// A resolution that goes while it is copied takes the work of its video along.
func TestResolutionThatIsDeletedWhileItIsCopiedNeverAppears(t *testing.T) {
	t.Parallel()
	b, id, copies, published := slowRig(t)
	b.Must(b.DeleteResolution(t.Context(), b.By, b.Video(id).Resolutions[0].ID))
	copies.done <- struct{}{}
	b.Must(<-published)
	_, err := b.OpenPublic(t.Context(), id, "720p.mp4")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
}
