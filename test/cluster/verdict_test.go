package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/test/rig"
)

// wantIdle waits until the fleet has nothing to do.
func (f *fleet) wantIdle() {
	f.t.Helper()
	until(f.t, "all tasks to be done", waitLimit, func() bool { return f.count(`SELECT count(*) FROM river_job WHERE finalized_at IS NULL`) == 0 })
}

// wantRest waits until the fleet has nothing to do, and then wants it to keep
// the given videos and nothing else: no task, no video in work, no object without
// an owner, no scratch file.
func (f *fleet) wantRest(live []*order) {
	f.t.Helper()
	f.wantIdle()
	if n := f.count(`SELECT count(*) FROM video WHERE status = 'processing'`); n > 0 {
		f.t.Errorf("%d videos are still in work, and no task is", n)
	}
	if n := f.count(`SELECT count(*) FROM step`); n > 0 {
		f.t.Errorf("%d steps are open, and no task is", n)
	}
	f.wantObjects(live)
	for _, n := range f.workers {
		until(f.t, n.name+" to clear its scratch folder", waitLimit, func() bool { return len(n.scratch()) == 0 })
	}
}

// wantVideos wants no other videos than those that were ordered: requests whose
// answers got lost made none of their own.
func (f *fleet) wantVideos(live []*order) {
	f.t.Helper()
	if n := f.count(`SELECT count(*) FROM video`); n != len(live) {
		f.t.Errorf("there are %d videos; %d were ordered and not deleted", n, len(live))
	}
}

// wantObjects wants the bucket to hold the videos and nothing else. What a dead
// or a late worker has left is removed by the hourly sweep, which is told to
// come now.
func (f *fleet) wantObjects(live []*order) {
	f.t.Helper()
	wanted := wantedObjects(live, f.extras())
	if slices.Equal(f.listObjects(), wanted) {
		return
	}
	f.t.Logf("for the sweep: %v; missing: %v", without(f.listObjects(), wanted), without(wanted, f.listObjects()))
	f.exec(`UPDATE periodic_job SET begun_at = 0 WHERE name = 'sweep'`)
	f.apis[0].stop()
	f.apis[0].start()
	for deadline := time.Now().Add(time.Minute); !slices.Equal(f.listObjects(), wanted); time.Sleep(pause) {
		if time.Now().After(deadline) {
			found := f.listObjects()
			f.t.Fatalf("the bucket holds, beside the videos, %v, and lacks %v", without(found, wanted), without(wanted, found))
		}
	}
}

// without returns what is in a and not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// wantedObjects lists what belongs to the videos. Sources have random names, so
// their last part is a star. extras tells whether pictures are made.
func wantedObjects(live []*order, extras bool) []string {
	var all []string
	for _, o := range live {
		all = append(all, "source/"+o.upload.ID+"/*")
		place := map[bool]string{true: "public", false: "private"}[o.IsPublic]
		all = append(all, place+"/"+o.upload.ID+"/poster.jpg", place+"/"+o.upload.ID+"/audio.m4a") // all clips have sound
		if extras {
			for _, name := range []string{"preview.webp", "storyboard.vtt", "storyboard-0.jpg"} {
				all = append(all, place+"/"+o.upload.ID+"/"+name)
			}
		}
		for _, name := range o.Resolutions {
			all = append(all, place+"/"+o.upload.ID+"/"+name+".mp4")
			for _, codec := range o.Codecs {
				all = append(all, place+"/"+o.upload.ID+"/"+codec+"-"+name+".mp4")
			}
			for i := range o.Thumbnails {
				all = append(all, fmt.Sprintf("%s/%s/%s-%d.jpg", place, o.upload.ID, name, i))
			}
		}
	}
	slices.Sort(all)
	return all
}

// listObjects lists what is in the bucket, sorted, the random names of sources
// as stars, without the one that says whose bucket it is.
func (f *fleet) listObjects() []string {
	f.t.Helper()
	var all []string
	err := filepath.WalkDir(f.objects, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // removed since its folder was read
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		key, err := filepath.Rel(f.objects, path)
		if strings.HasPrefix(key, "owner/") {
			return err
		}
		if strings.HasPrefix(key, "source/") {
			key = filepath.Dir(key) + "/*"
		}
		all = append(all, key)
		return err
	})
	if err != nil {
		f.t.Fatalf("list the bucket: %v", err)
	}
	slices.Sort(all)
	return rig.WithoutAlternates(all)
}

// wantWholeVideos wants every resolution of the videos to be whole.
func (f *fleet) wantWholeVideos(live []*order) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), waitLimit)
	defer cancel()
	path := filepath.Join(f.t.TempDir(), "film.mp4")
	for _, o := range live {
		w, err := o.read(ctx)
		if err != nil {
			f.t.Error(err)
			continue
		}
		for name, r := range w.Resolutions {
			content, err := o.play(ctx, r)
			if err == nil {
				err = os.WriteFile(path, content, 0o600)
			}
			if err == nil {
				err = o.check(path)
			}
			if err != nil {
				f.t.Errorf("%s of %s %s: %v", name, o.Filename, o.upload.ID, err)
			}
		}
	}
}
