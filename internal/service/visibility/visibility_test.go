package visibility_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// watched is a storage that is looked at after each change.
type watched struct {
	*disk.Store
	look func()
}

func (w *watched) Copy(ctx context.Context, from, to, etag string) (blob.Info, error) {
	defer w.look()
	return w.Store.Copy(ctx, from, to, etag)
}

func (w *watched) Delete(ctx context.Context, keys ...string) error {
	defer w.look()
	return w.Store.Delete(ctx, keys...)
}

func (w *watched) Prepare(ctx context.Context, from, to string) (blob.Prepared, error) {
	defer w.look()
	p, err := w.Store.Prepare(ctx, from, to)
	return watchedCopy{p, w.look}, err
}

type watchedCopy struct {
	blob.Prepared
	look func()
}

func (c watchedCopy) Publish(ctx context.Context) (blob.Info, error) {
	defer c.look()
	return c.Prepared.Publish(ctx)
}

// rig is all services, and a video that is watched.
type rig struct {
	*servicetest.Rig
	id video.ID
}

// newRig returns a video of many files that is ready. Whenever the storage changes, nothing of it may be public that
// the database calls private.
func newRig(t *testing.T, public bool, options ...func(*servicetest.Config)) *rig {
	t.Helper()
	w := &watched{look: func() {}}
	r := &rig{Rig: servicetest.NewOn(t, func(s *disk.Store) blob.Store { w.Store = s; return w }, options...)}
	var seconds []float64
	for i := range 30 { // more files than move under one lock
		seconds = append(seconds, float64(i))
	}
	r.id = r.Processing(video.Draft{IsPublic: public, Resolutions: []video.Name{"720p", "240p"}, Thumbnails: seconds}).ID
	w.look = r.wantNothingPublic
	return r
}

func (r *rig) finish() {
	r.T.Helper()
	p := servicetest.Plan("720p", "240p")
	var files []pipeline.ThumbnailFile
	for i := range 30 {
		p.Thumbnails = append(p.Thumbnails, video.Thumbnail{Seconds: float64(i)})
		files = append(files, pipeline.ThumbnailFile{Rendition: 0, Thumbnail: i, Path: r.File(fmt.Sprint("picture ", i))})
	}
	r.Transcode(r.id, p)
	r.Must(r.PublishThumbnails(r.T.Context(), r.Video(r.id), files))
	r.Publish(r.id, 0)
	r.Publish(r.id, 1)
	_, _, _, err := r.Captions.Put(r.T.Context(), r.By, r.id, captions.Upload{Language: "en", Text: []byte("WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")})
	r.Must(err)
	r.Must(r.Purge(r.T.Context(), r.id))
}

// wantNothingPublic fails the test if the video is private and has a public file.
func (r *rig) wantNothingPublic() {
	v, err := r.Store.Video(context.Background(), r.id)
	if err != nil || v.IsPublic {
		return
	}
	if public := r.under(objects.Public); len(public) > 0 {
		r.T.Errorf("the video is private, and %v are public", public)
	}
}

func (r *rig) under(area objects.Area) []string {
	return slices.DeleteFunc(r.Objects(), func(key string) bool { return !strings.HasPrefix(key, area.Prefix(video.Folder(r.id))) })
}

// wantSettled wants all files where they belong, and nowhere else.
func (r *rig) wantSettled(public bool, files int) {
	r.T.Helper()
	area, other := objects.Private, objects.Public
	if public {
		area, other = other, area
	}
	v := r.Video(r.id)
	if v.IsPublic != public || v.Moving != "" {
		r.T.Errorf("the video is public: %t, moving: %q; want %t", v.IsPublic, v.Moving, public)
	}
	if there, old := r.under(area), r.under(other); len(there) != files || len(old) > 0 {
		r.T.Errorf("%d files are where they belong, %v are not; want %d", len(there), old, files)
	}
}

// tokenOf returns the signature in an address of a file.
func tokenOf(address string) string {
	token, _, _ := strings.Cut(strings.TrimPrefix(address, "/v/"), "/")
	return token
}

const allFiles = 2 + 30 + 1

func TestFilesMoveAndOldAddressesDie(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRig(t, true, func(c *servicetest.Config) { c.PurgeClock = time.Now })
	r.finish()
	r.Must(r.Visibility.Set(ctx, r.By, r.id, true)) // it is
	r.wantSettled(true, allFiles)
	r.Must(r.Visibility.Set(ctx, r.By, r.id, false))
	r.wantSettled(false, allFiles)
	if n := r.Waiting()[queue.PurgeCDN]; n != 1 {
		t.Errorf("the CDN is told %d times; want once", n)
	}
	_, err := r.OpenPublic(ctx, r.id, "720p.mp4")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	urls := playback.SignedURLs(r.Video(r.id), playback.Base{}, r.Signing, r.Now().Add(time.Hour))
	signed := tokenOf(urls.Resolutions["720p"].Rendition)
	o, err := r.OpenSigned(ctx, signed, r.id, "720p.mp4")
	r.Must(err)
	if text := servicetest.ReadAll(t, o); text != servicetest.Rendition {
		t.Errorf("the private file is %q", text)
	}

	r.Must(r.Visibility.Set(ctx, r.By, r.id, true))
	r.wantSettled(true, allFiles)
	_, err = r.OpenSigned(ctx, signed, r.id, "720p.mp4")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	if _, err := r.OpenPublic(ctx, r.id, "720p.mp4"); err != nil {
		t.Error(err)
	}
	if n := r.Waiting()[queue.PurgeCDN]; n != 1 {
		t.Errorf("the CDN is told %d times; a private video that becomes public is nothing to forget", n)
	}
	stranger := r.By
	stranger.Tenant = "stranger"
	servicetest.WantCode(t, r.Visibility.Set(ctx, stranger, r.id, false), video.NotFound, "video_not_found")
}

var points = []failpoint.Point{failpoint.VisibilityRecorded, failpoint.VisibilityOpened, failpoint.VisibilityCopied, failpoint.VisibilityMoved}

// A process that dies at any point leaves nothing public of a private video, and loses no file. Sweeps and purges that
// run before the rest is done do not change that.
func TestACrashAtAnyPoint(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{true, false} {
		for _, point := range points {
			if point == failpoint.VisibilityOpened && !public {
				continue // the row is the last to change
			}
			afters := []string{"resume"}
			if point == failpoint.VisibilityCopied {
				afters = []string{"resume", "again", "back", "delete"}
			}
			for _, after := range afters {
				t.Run(fmt.Sprint(point, " to public ", public, " ", after), func(t *testing.T) {
					t.Parallel()
					r := newRig(t, !public)
					r.finish()
					r.dieAt(point, public)
					if _, err := r.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
					r.Must(r.Purge(t.Context(), r.id))
					r.goOn(after, public)
				})
			}
		}
	}
}

func (r *rig) dieAt(point failpoint.Point, public bool) {
	r.T.Helper()
	r.OnPoint = func(p failpoint.Point) {
		if p == point {
			panic("killed")
		}
	}
	func() {
		defer func() { _ = recover() }()
		if err := r.Visibility.Set(r.T.Context(), r.By, r.id, public); err == nil {
			r.T.Errorf("%s was not reached", point)
		}
	}()
	r.OnPoint = nil
	r.wantNothingPublic()
	if v := r.Video(r.id); v.Moving == "" {
		r.T.Errorf("at %s nothing is recorded", point)
	}
}

func (r *rig) goOn(after string, public bool) {
	r.T.Helper()
	switch after {
	case "resume":
		r.Visibility.Resume(r.T.Context(), slog.New(slog.DiscardHandler))
		r.wantSettled(public, allFiles)
	case "again":
		r.Must(r.Visibility.Set(r.T.Context(), r.By, r.id, public))
		r.wantSettled(public, allFiles)
	case "back":
		r.Must(r.Visibility.Set(r.T.Context(), r.By, r.id, !public))
		r.wantSettled(!public, allFiles)
	case "delete":
		r.Must(r.DeleteVideo(r.T.Context(), r.By, r.id))
		if left := r.Objects(); len(left) > 1 { // the ownership marker
			r.T.Errorf("after the deletion %v are left", left)
		}
		r.Visibility.Resume(r.T.Context(), slog.New(slog.DiscardHandler))
	}
}

// What is published, removed and made again while files move lands where they go, and nothing old comes after it.
func TestWorkGoesOnWhileFilesMove(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{true, false} {
		for _, point := range []failpoint.Point{failpoint.VisibilityRecorded, failpoint.VisibilityOpened} {
			r := newRig(t, !public)
			r.Transcode(r.id, servicetest.Plan("720p", "240p"))
			r.Publish(r.id, 0)
			r.OnPoint = func(p failpoint.Point) {
				if p == point {
					r.OnPoint = nil
					r.Publish(r.id, 1)
				}
			}
			r.Must(r.Visibility.Set(t.Context(), r.By, r.id, public))
			if r.OnPoint != nil {
				r.OnPoint(point)
			}
			r.wantSettled(public, 2)
			r.WantStatuses(r.id, "ready: 720p ready, 240p ready")
		}
	}
}

func TestAResolutionIsDeletedAndMadeAgainWhileFilesMove(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.Transcode(r.id, servicetest.Plan("720p", "240p"))
	r.Publish(r.id, 0)
	r.Publish(r.id, 1)
	r.dieAt(failpoint.VisibilityCopied, false) // files are in both areas
	large, _ := new(r.Video(r.id)).Resolution("720p")
	r.Must(r.DeleteResolution(t.Context(), r.By, large.ID))
	r.Add(r.id, "720p")
	r.Visibility.Resume(t.Context(), slog.New(slog.DiscardHandler))
	r.wantSettled(false, 1)
	r.Finish(r.id)
	r.wantSettled(false, 2)
}

func TestADeletionWins(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.finish()
	r.OnPoint = func(p failpoint.Point) {
		if p == failpoint.VisibilityRecorded {
			r.Must(r.DeleteVideo(t.Context(), r.By, r.id))
		}
	}
	servicetest.WantCode(t, r.Visibility.Set(t.Context(), r.By, r.id, false), video.NotFound, "video_not_found")
	if left := r.Objects(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestAVideoWithoutFiles(t *testing.T) {
	t.Parallel()
	r := servicetest.New(t)
	v := r.Create(video.Draft{}).Video
	r.Must(r.Visibility.Set(t.Context(), r.By, v.ID, true))
	if v := r.Video(v.ID); !v.IsPublic || v.Moving != "" {
		t.Errorf("the video is public: %t, moving: %q", v.IsPublic, v.Moving)
	}
}

// A request does not wait for ever for a storage that is slow. The move goes on without it.
func TestASlowStorage(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.finish()
	r.Visibility.Wait = time.Millisecond
	held := make(chan struct{})
	r.OnPoint = func(p failpoint.Point) {
		if p == failpoint.VisibilityCopied {
			<-held
		}
	}
	servicetest.WantCode(t, r.Visibility.Set(t.Context(), r.By, r.id, false), video.Unavailable, "storage_unavailable")
	close(held)
	r.Visibility.Wait = time.Minute
	r.Must(r.Visibility.Set(t.Context(), r.By, r.id, false))
	r.wantSettled(false, allFiles)
}

func TestChangesOfVisibilityAreAudited(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Ready(servicetest.Plan("720p", "240p"))
	for _, public := range []bool{false, false, true} {
		b.Must(b.Visibility.Set(t.Context(), b.By, v.ID, public))
	}
	log, err := audit.New(b.Store, b.Now).List(t.Context(), b.By, audit.Filter{}, video.Cursor{}, 10)
	b.Must(err)
	var got []video.Action
	for _, e := range log.Entries {
		if e.Video == v.ID {
			got = append(got, e.Action)
		}
	}
	if want := []video.Action{video.ActionVideoPublish, video.ActionVideoHide}; !slices.Equal(got[:2], want) || slices.Contains(got[2:], video.ActionVideoHide) {
		t.Errorf("the log has %v, want %v first, newest first", got, want)
	}
}
