package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/backup"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// library is a rig with a video in each state.
type library struct {
	*servicetest.Rig
	waiting, imported     video.ID // for an upload, which is on its way, and for a file that is fetched
	ready, encoding, part video.ID // part: one of its resolutions is ready
}

func newLibrary(t *testing.T) library {
	t.Helper()
	l := library{Rig: servicetest.New(t, func(c *servicetest.Config) { c.MaxImports = 1 })}
	l.ready = l.Ready(servicetest.Plan("720p", "240p")).ID
	l.Must(l.Purge(t.Context(), l.ready))
	encoding := l.Processing(video.Draft{})
	l.Must(l.StorePlan(t.Context(), encoding.ID, servicetest.Plan("720p", "240p")))
	part := l.Processing(video.Draft{IsPublic: true})
	l.Transcode(part.ID, servicetest.Plan("720p", "240p"))
	l.Publish(part.ID, 0)
	up := l.Create(video.Draft{})
	l.Put(up, servicetest.LikeVideo)
	l.imported = l.Create(video.Draft{SourceURL: new("https://films.example.com/a.mp4")}).Video.ID
	l.encoding, l.part, l.waiting = encoding.ID, part.ID, up.Video.ID
	for _, id := range []video.ID{l.ready, l.part} {
		_, err := l.Catalog.Edit(t.Context(), l.By, id, video.Edit{Tags: &[]string{"both", string(id)}})
		l.Must(err)
	}
	l.caption(l.waiting, "before the upload was completed")
	return l
}

// newBackup returns a library, a folder, and the name of the first backup of the library in it.
func newBackup(t *testing.T) (l library, dir, first string) {
	t.Helper()
	l, dir = newLibrary(t), filepath.Join(t.TempDir(), "backups")
	_, first, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	return l, dir, first
}

// caption adds captions in one language to a video, or replaces them, and returns their name.
func (l library) caption(id video.ID, text string) string {
	l.T.Helper()
	u := captions.Upload{Language: "en", Text: []byte("WEBVTT\n\n00:01.000 --> 00:02.000\n" + text + "\n")}
	_, f, _, err := l.Captions.Put(l.T.Context(), l.By, id, u)
	l.Must(err)
	return f.Name
}

// kept are the objects that a backup has: all but those of uploads.
func (l library) kept() map[string]string {
	all := contents(l.T, l.Blobs)
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasPrefix(key, "upload/") })
	return all
}

// tasksOf returns the names of all tasks.
func tasksOf(t *testing.T, src backup.Source) []queue.Name {
	t.Helper()
	view, err := store.OpenSnapshot(t.Context(), src.Store)
	must(t, err)
	defer view.Close()
	var names []queue.Name
	for task, err := range src.Queue.All(t.Context(), view) {
		must(t, err)
		names = append(names, task.Name())
	}
	slices.SortFunc(names, func(a, b queue.Name) int {
		return strings.Compare(string(a.Video)+string(a.Kind)+string(rune(a.Number)), string(b.Video)+string(b.Kind)+string(rune(b.Number)))
	})
	return names
}

// rowsOf returns all rows as text.
func rowsOf(t *testing.T, s *store.Store) string {
	t.Helper()
	rows, _, err := backup.Export(t.Context(), s)
	must(t, err)
	return string(rows)
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "backup.tar") }

func TestAFileHoldsEverything(t *testing.T) {
	t.Parallel()
	l, path, to := newLibrary(t), file(t), onDisk(t)
	summary, err := backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{Version: "test"})
	must(t, err)
	if summary.Videos != 5 || summary.Objects != int64(len(l.kept())) || summary.Missing != nil || summary.Removed != nil || summary.Deleted != nil {
		t.Errorf("backup of %+v; want 5 videos and %d objects", summary, len(l.kept()))
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("beside the backup there are %v, %v", names, err)
	}
	header, verified, err := backup.Verify(t.Context(), path, "", nil)
	if err != nil || verified.SHA256 != summary.SHA256 || header.Version != "test" {
		t.Errorf("Verify = %+v, %+v, %v", header, verified, err)
	}
	_, _, err = backup.Restore(t.Context(), path, "", to.target(), to.dir, nil)
	must(t, err)
	copied := to.source()
	if got := contents(t, to.blobs); !maps.Equal(got, l.kept()) {
		t.Errorf("the copy has %v; want %v", got, l.kept())
	}
	if got, want := tasksOf(t, copied), tasksOf(t, sourceOf(l.Rig)); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the copy has the tasks %v; want %v", got, want)
	}
	if name := (queue.Name{Kind: queue.Import, Video: l.imported}); !slices.Contains(tasksOf(t, copied), name) || !strings.Contains(rowsOf(t, copied.Store), "films.example.com") {
		t.Error("the import does not go on in the copy")
	}
	for _, id := range []video.ID{l.ready, l.encoding, l.part, l.waiting, l.imported} {
		got, err := copied.Store.VideoWithPlan(t.Context(), id)
		if want := l.Video(id); err != nil || got.Status != want.Status || len(got.Resolutions) != 2 || (got.Plan == nil) != (want.Plan == nil) {
			t.Errorf("the copy of a video is %+v, %v; want %+v", got, err, want)
		}
	}
	if got, want := l.tagsIn(copied.Store), l.tagsIn(l.Store); got != want || !strings.Contains(got, "both:2") {
		t.Errorf("the copy has the tags %s; want %s", got, want)
	}
	wantOtherOwner(t, l, copied)
	if got, err := system.NewestBackup(t.Context(), l.Store); err != nil || time.Since(got).Abs() > time.Hour {
		t.Errorf("the newest backup is of %s, %v; want that it was noted", got, err)
	}
	if got, err := system.NewestBackup(t.Context(), copied.Store); err != nil || !got.IsZero() {
		t.Errorf("the newest backup of the copy is of %s, %v; want none", got, err)
	}
}

// What clients delete after the database was read is deleted in the copy as well.
func TestDeletionsWhileABackupRuns(t *testing.T) {
	t.Parallel()
	l, path, to := newLibrary(t), file(t), onDisk(t)
	other := l.Ready(servicetest.Plan("720p", "240p"))
	must(t, l.Blobs.Delete(t.Context(), objects.Playback(l.Video(l.part), "720p.mp4"))) // lost long ago
	src := sourceOf(l.Rig)
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() {
		must(t, l.DeleteVideo(t.Context(), l.By, l.ready))
		name, has := other.Resolution("240p")
		if !has {
			t.Error("there is no 240p")
		}
		must(t, l.DeleteResolution(t.Context(), l.By, name.ID))
	}}
	summary, err := backup.ToFile(t.Context(), src, path, backup.Options{})
	must(t, err)
	if !slices.Equal(summary.Deleted, []video.ID{l.ready}) || !slices.Equal(summary.Removed, []string{objects.Playback(other, "240p.mp4")}) ||
		!slices.Equal(summary.Missing, []string{objects.Playback(l.Video(l.part), "720p.mp4")}) {
		t.Errorf("deleted %v, removed %v, missing %v", summary.Deleted, summary.Removed, summary.Missing)
	}
	_, _, err = backup.Restore(t.Context(), path, "", to.target(), to.dir, nil)
	must(t, err)
	copied := to.source()
	if _, err := copied.Store.Video(t.Context(), l.ready); video.KindOf(err) != video.NotFound {
		t.Errorf("the deleted video = %v", err)
	}
	if got, want := l.tagsIn(copied.Store), l.tagsIn(l.Store); got != want || !strings.Contains(got, "both:1") {
		t.Errorf("the copy has the tags %s; want %s", got, want)
	}
	v, err := copied.Store.Video(t.Context(), other.ID)
	if err != nil || len(v.Resolutions) != 1 || v.Resolutions[0].Name != "720p" || v.Status != video.Ready {
		t.Errorf("the video without 240p is %+v, %v", v, err)
	}
}

// What a video does not need any more may be needed by the backup that has just read the database.
func TestAPassThatEndsWhileABackupRuns(t *testing.T) {
	t.Parallel()
	l, path, to := newLibrary(t), file(t), onDisk(t)
	before := l.kept()
	src := sourceOf(l.Rig)
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() {
		l.Publish(l.part, 1)
		l.WantStatuses(l.part, "ready: 720p ready, 240p ready")
		must(t, l.Purge(t.Context(), l.part))
		_, err := l.Sweep(t.Context())
		must(t, err)
	}}
	_, err := backup.ToFile(t.Context(), src, path, backup.Options{})
	must(t, err)
	_, _, err = backup.Restore(t.Context(), path, "", to.target(), to.dir, nil)
	must(t, err)
	got := contents(t, to.blobs)
	for key, sum := range before {
		if got[key] != sum {
			t.Errorf("the copy has not %s", key)
		}
	}
	must(t, l.Purge(t.Context(), l.part)) // the hold is released
	if left := l.Objects(); slices.ContainsFunc(left, func(key string) bool { return strings.HasPrefix(key, objects.Work.Prefix(video.Folder(l.part))) }) {
		t.Errorf("after the backup %v are left", left)
	}
}

func TestAFolderKeepsObjectsOnce(t *testing.T) {
	t.Parallel()
	l, to := newLibrary(t), onDisk(t)
	dir := filepath.Join(t.TempDir(), "backups")
	first, name, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	files := countFiles(t, filepath.Join(dir, "objects"))
	if int64(files) != first.Objects {
		t.Errorf("the folder has %d files for %d objects", files, first.Objects)
	}
	must(t, l.DeleteVideo(t.Context(), l.By, l.ready))
	added := l.Ready(servicetest.Plan("720p", "240p"))
	must(t, l.Purge(t.Context(), added.ID))
	nextSecond(name)
	_, second, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	if got := countFiles(t, filepath.Join(dir, "objects")); got != files+3 { // a source and two renditions
		t.Errorf("after the second backup the folder has %d files; want three more than %d", got, files)
	}
	list, err := backup.List(t.Context(), dir)
	if err != nil || len(list) != 2 || list[0].Name != name || list[1].Name != second || list[0].Objects != first.Objects {
		t.Errorf("List = %+v, %v; want %s and %s", list, err, name, second)
	}
	for _, s := range []string{name, second} {
		if _, _, err := backup.Verify(t.Context(), dir, s, nil); err != nil {
			t.Errorf("Verify %s = %v", s, err)
		}
	}
	_, _, err = backup.Restore(t.Context(), dir, name, to.target(), to.dir, nil)
	must(t, err)
	copied := to.source().Store
	if _, err := copied.Video(t.Context(), l.ready); err != nil {
		t.Errorf("a video of the first backup = %v", err)
	}
	if _, err := copied.Video(t.Context(), added.ID); video.KindOf(err) != video.NotFound {
		t.Errorf("a video that came later = %v", err)
	}
	nextSecond(second)
	_, third, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 1, backup.Options{})
	must(t, err)
	if list, err := backup.List(t.Context(), dir); err != nil || len(list) != 1 || list[0].Name != third || countFiles(t, filepath.Join(dir, "objects")) != int(list[0].Objects) {
		t.Errorf("with --keep=1 there are %+v, %v, and %d objects", list, err, countFiles(t, filepath.Join(dir, "objects")))
	}
	if _, _, err := backup.Verify(t.Context(), dir, "", nil); err != nil {
		t.Errorf("after removing the others: %v", err)
	}
}

// After a power cut, files of a run that did not end may have the right length and no content.
func TestObjectsOfAnUnfinishedRunAreCompared(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "backups")
	func() {
		defer func() { _ = recover() }()
		_, _, _ = backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{Hook: dyingAt(failpoint.ObjectBackedUp)})
		t.Error("the backup did not die")
	}()
	damaged := 0
	must(t, filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		must(t, err)
		damaged++
		return os.WriteFile(path, make([]byte, fi.Size()), 0o600)
	}))
	if damaged == 0 {
		t.Fatal("the backup died before it had stored anything")
	}
	nextSecond(time.Now().UTC().Format("20060102T150405Z")) // in this process, the one that died still holds its file
	_, _, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, 0, backup.Options{})
	must(t, err)
	if _, _, err := backup.Verify(t.Context(), dir, "", nil); err != nil {
		t.Errorf("the backup after it: %v", err)
	}
}

// nextSecond waits until a snapshot can have another name.
func nextSecond(name string) {
	for time.Now().UTC().Format("20060102T150405Z") == name {
		time.Sleep(10 * time.Millisecond)
	}
}

func countFiles(t *testing.T, root string) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	}))
	return n
}

func TestDamagedBackupsAreRefused(t *testing.T) {
	t.Parallel()
	l, path := newLibrary(t), file(t)
	_, err := backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{})
	must(t, err)
	whole, err := os.ReadFile(path)
	must(t, err)
	rendition := bytes.Index(whole, []byte(servicetest.Rendition))
	flip := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 1
		return b
	}
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"nothing":            {nil, "not a backup"},
		"another file":       {[]byte(strings.Repeat("x", 4096)), "not a backup"},
		"cut in the middle":  {whole[:len(whole)/2], "cut off"},
		"cut at the end":     {whole[:len(whole)-2048], "damaged"},
		"a changed video":    {flip(rendition), "checksum"},
		"a changed manifest": {flip(bytes.LastIndex(whole, []byte(`"sha256":"`)) - 20), "manifest"},
		"of a newer Spool":   {bytes.Replace(whole, []byte(`"format":1`), []byte(`"format":2`), 1), "newer Spool"},
		"of an early build":  {bytes.Replace(whole, []byte(`0001_schema.sql`), []byte(`0001_videos.sql`), 1), "before its first release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, to := file(t), onDisk(t)
			must(t, os.WriteFile(bad, tt.content, 0o600))
			if _, _, err := backup.Verify(t.Context(), bad, "", nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Verify = %v; want %q", err, tt.want)
			}
			if _, _, err := backup.Restore(t.Context(), bad, "", to.target(), to.dir, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Restore = %v; want %q", err, tt.want)
			}
			if found, err := to.examine(t.Context()); err != nil || found.Used && !found.Unfinished {
				t.Errorf("the database counts as restored: %+v, %v", found, err)
			}
			// The same place takes a good one.
			if _, _, err := backup.Restore(t.Context(), path, "", to.target(), to.dir, nil); err != nil {
				t.Errorf("restoring a good one after it: %v", err)
			}
		})
	}
}

func TestTargetsThatAreNotEmptyAreRefused(t *testing.T) {
	t.Parallel()
	l, path := newLibrary(t), file(t)
	_, err := backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{})
	must(t, err)
	used, stored := onDisk(t), onDisk(t)
	_, _, err = backup.Restore(t.Context(), path, "", used.target(), used.dir, nil)
	must(t, err)
	_, err = stored.blobs.Put(t.Context(), "public/x/720p.mp4", strings.NewReader("x"))
	must(t, err)
	for _, p := range []*place{used, stored} {
		before := contents(t, p.blobs)
		if _, _, err := backup.Restore(t.Context(), path, "", p.target(), p.dir, nil); !errors.Is(err, backup.ErrNotEmpty) {
			t.Errorf("Restore = %v; want that it is not empty", err)
		}
		if !maps.Equal(contents(t, p.blobs), before) {
			t.Error("the refused restore has changed something")
		}
	}
}

// killed is what a hook panics with, in the place of a kill.
type killed struct{}

func dyingAt(p failpoint.Point) failpoint.Hook {
	return func(reached failpoint.Point) {
		if reached == p {
			panic(killed{})
		}
	}
}

func TestAKilledRestoreBeginsAgain(t *testing.T) {
	t.Parallel()
	l, path := newLibrary(t), file(t)
	_, err := backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{})
	must(t, err)
	for name, open := range map[string]func(testing.TB) *place{"sqlite": onDisk, "postgres": onPostgres} {
		for _, points := range [][]failpoint.Point{
			{failpoint.ObjectRestored}, {failpoint.RowsRestored}, {failpoint.DatabaseMade},
			{failpoint.ObjectRestored, failpoint.DatabaseMade}, // the second has removed what the first made
		} {
			t.Run(fmt.Sprint(name, points), func(t *testing.T) {
				t.Parallel()
				to := open(t)
				for _, point := range points {
					killRestore(t, path, to, point)
					if found, err := to.examine(t.Context()); err != nil || !found.Unfinished {
						t.Errorf("after the kill the database is %+v, %v", found, err)
					}
				}
				_, _, err := backup.Restore(t.Context(), path, "", to.target(), to.dir, nil)
				must(t, err)
				if found, err := to.examine(t.Context()); err != nil || found.Unfinished || !maps.Equal(contents(t, to.blobs), l.kept()) {
					t.Errorf("the last restore gives %+v, %v", found, err)
				}
				if got, want := tasksOf(t, to.source()), tasksOf(t, sourceOf(l.Rig)); !slices.Equal(got, want) {
					t.Errorf("the copy has the tasks %v; want %v", got, want)
				}
			})
		}
	}
}

// killRestore begins a restore that dies at a point.
func killRestore(t *testing.T, path string, to *place, at failpoint.Point) {
	t.Helper()
	defer func() {
		if _, is := recover().(killed); !is {
			t.Fatalf("the restore did not get to %s", at)
		}
	}()
	target := to.target()
	target.Hook = dyingAt(at)
	_, _, err := backup.Restore(t.Context(), path, "", target, to.dir, nil)
	t.Errorf("Restore = %v", err)
}

// While a process stands still, its hold ends, and the janitor may remove what the backup needs.
func TestABackupThatStoodStillFails(t *testing.T) {
	t.Parallel()
	l, path := newLibrary(t), file(t)
	src := sourceOf(l.Rig)
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() {
		_, err := l.Store.Writer().ExecContext(t.Context(), `UPDATE backup_hold SET ends_at = 1`)
		must(t, err)
	}}
	if _, err := backup.ToFile(t.Context(), src, path, backup.Options{}); err == nil || !strings.Contains(err.Error(), "make it again") {
		t.Errorf("ToFile = %v; want that it has to be made again", err)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) > 0 {
		t.Errorf("it has left %v, %v", names, err)
	}
}

// The copy has the captions that the video had when the database was read.
func TestCaptionsReplacedWhileABackupRuns(t *testing.T) {
	t.Parallel()
	l, path, to := newLibrary(t), file(t), onDisk(t)
	old := l.caption(l.ready, "old")
	src := sourceOf(l.Rig)
	src.Blobs = &meddler{Store: l.Blobs, at: objects.Public.Prefix(video.Folder(l.ready)), f: func() { l.caption(l.ready, "new") }}
	summary, err := backup.ToFile(t.Context(), src, path, backup.Options{})
	must(t, err)
	if summary.Removed != nil || summary.Missing != nil {
		t.Errorf("removed %v, missing %v", summary.Removed, summary.Missing)
	}
	_, _, err = backup.Restore(t.Context(), path, "", to.target(), to.dir, nil)
	must(t, err)
	v, err := to.source().Store.Video(t.Context(), l.ready)
	must(t, err)
	if all := v.Captions(); len(all) != 1 || all[0].Name != old || contents(t, to.blobs)[objects.Playback(v, old)] == "" {
		t.Errorf("the copy lists %+v and has %v; want %s", all, contents(t, to.blobs), old)
	}
	must(t, l.Purge(t.Context(), l.ready))
	if got := contents(t, l.Blobs)[objects.Playback(v, old)]; got != "" {
		t.Error("after the backup the old captions are still there")
	}
}

// Old backups are removed only for others that can be read.
func TestADamagedSnapshotDoesNotCount(t *testing.T) {
	t.Parallel()
	l, dir := newLibrary(t), filepath.Join(t.TempDir(), "backups")
	var names []string
	add := func(keep int) error {
		t.Helper()
		if len(names) > 0 {
			nextSecond(names[len(names)-1])
		}
		_, name, err := backup.ToFolder(t.Context(), sourceOf(l.Rig), dir, keep, backup.Options{})
		names = append(names, name)
		return err
	}
	must(t, add(0))
	must(t, add(0))
	must(t, l.DeleteVideo(t.Context(), l.By, l.ready)) // its objects are in the old backups alone
	must(t, add(0))
	damaged := filepath.Join(dir, "snapshots", names[2]+".spool")
	must(t, os.Truncate(damaged, 1000))
	err := add(2)
	e, is := errors.AsType[*backup.DamagedSnapshotsError](err)
	if !is || !slices.Equal(e.Names, []string{filepath.Base(damaged)}) {
		t.Fatalf("ToFolder = %v; want that %s is damaged", err, names[2])
	}
	for _, name := range []string{names[1], names[3]} {
		if _, _, err := backup.Verify(t.Context(), dir, name, nil); err != nil {
			t.Errorf("Verify %s = %v", name, err)
		}
	}
	must(t, os.Remove(damaged))
	must(t, add(1))
	if list, err := backup.List(t.Context(), dir); err != nil || len(list) != 1 || countFiles(t, filepath.Join(dir, "objects")) != int(list[0].Objects) {
		t.Errorf("without the damaged one there are %+v, %v, and %d objects", list, err, countFiles(t, filepath.Join(dir, "objects")))
	}
}

// admin may manage webhooks.
var admin = auth.Actor{Tenant: "t", Scopes: auth.Scopes}

func webhooksOf(t *testing.T, st *store.Store, q queue.Queue) *webhook.Service {
	t.Helper()
	guard, err := outbound.NewGuard()
	must(t, err)
	return webhook.New(st, q, guard, nil, time.Now, webhook.Config{})
}

func TestWebhooksOfACopyAreDisabled(t *testing.T) {
	t.Parallel()
	l, path := newLibrary(t), file(t)
	h, _, err := webhooksOf(t, l.Store, l.Queue).Create(t.Context(), admin, webhook.Draft{Pull: true})
	must(t, err)
	_, err = backup.ToFile(t.Context(), sourceOf(l.Rig), path, backup.Options{})
	must(t, err)
	for _, keep := range []bool{false, true} {
		to := onDisk(t)
		target := to.target()
		target.KeepWebhooks = keep
		_, _, err = backup.Restore(t.Context(), path, "", target, to.dir, nil)
		must(t, err)
		copied := to.source()
		got, err := webhooksOf(t, copied.Store, copied.Queue).Get(t.Context(), admin, h.ID)
		if err != nil || got.Enabled != keep || (got.DisabledReason == "") != keep {
			t.Errorf("with KeepWebhooks %t the webhook is %+v, %v", keep, got, err)
		}
	}
}

// From SQLite and a disk to PostgreSQL and S3, and back.
func TestMigrateThereAndBack(t *testing.T) {
	t.Parallel()
	l, servers, back := newLibrary(t), onServers(t), onDisk(t)
	migrate := func(src backup.Source, to *place) {
		t.Helper()
		target := to.target()
		target.KeepWebhooks = true
		summary, err := backup.Migrate(t.Context(), src, target, backup.Options{Scratch: t.TempDir()})
		must(t, err)
		if summary.Objects != int64(len(l.kept())) {
			t.Errorf("migrated %+v; want %d objects", summary, len(l.kept()))
		}
	}
	// An earlier run was cut off: some objects are there, and one of them is wrong.
	half := servers.target()
	half.Hook = nil
	func() {
		defer func() { _ = recover() }()
		_, err := backup.Migrate(t.Context(), sourceOf(l.Rig), half, backup.Options{Scratch: t.TempDir(), Hook: dyingAt(failpoint.ObjectBackedUp)})
		t.Errorf("Migrate = %v; want that it is cut off", err)
	}()
	migrate(sourceOf(l.Rig), servers)
	there := servers.source()
	if got := contents(t, servers.blobs); !maps.Equal(got, l.kept()) {
		t.Errorf("S3 has %v; want %v", got, l.kept())
	}
	migrate(there, back)
	again := back.source()
	if got, want := rowsOf(t, again.Store), rowsOf(t, there.Store); got != want {
		t.Errorf("came back as\n%s\nwant\n%s", got, want)
	}
	if got, want := tasksOf(t, again), tasksOf(t, sourceOf(l.Rig)); !slices.Equal(got, want) {
		t.Errorf("came back with the tasks %v; want %v", got, want)
	}
	if got := contents(t, back.blobs); !maps.Equal(got, l.kept()) {
		t.Errorf("came back with %v; want %v", got, l.kept())
	}
}
