package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// smallDisk returns a data directory on a disk of 48 MiB.
func smallDisk(t testing.TB) string { return filepath.Join(rig.SmallDisk(t), "data") }

func TestAnUploadThatDoesNotFitIsRefusedAndLeavesNothing(t *testing.T) {
	oneMachineOnly(t, "a bucket has no end")
	t.Parallel()
	s := start(t, withDataDir(smallDisk(t)))
	u := s.create(tinyVideo)
	large := io.MultiReader(strings.NewReader(readFile(t, clip(t, smallClip))), io.LimitReader(rig.Zeros{}, 80<<20))
	r := s.send("PUT", u.UploadURL, large, header{"Content-Type", u.ContentType})
	r.problem(t, http.StatusInsufficientStorage, "insufficient_storage")
	if r.header.Get("Retry-After") == "" {
		t.Error("the refusal does not say when to try again")
	}
	if files := s.files(); len(files) > 0 {
		t.Errorf("the refused upload left %v", files)
	}
	s.wantStatus(u, "pending_upload")

	s.put(u, clip(t, smallClip))
	s.complete(u.ID)
	s.wantVideo(s.waitReady(u), smallFrames)
	s.wantTidy(u)
}

// TestANearlyFullDisk wants that what is left stays for the database: uploads are
// refused before their first byte, and deletions, which make room, go on.
func TestANearlyFullDisk(t *testing.T) {
	oneMachineOnly(t, "neither uploads nor the database need the disk of this machine")
	t.Parallel()
	s := start(t, withDataDir(smallDisk(t)))
	old := s.publish(tinyVideo, clip(t, smallClip))
	u := s.create(tinyVideo)
	free := s.fillDisk()
	if err := os.Truncate(filepath.Join(filepath.Dir(s.dataDir), rig.Ballast), 0); err != nil {
		t.Fatal(err)
	}
	takeAllBut(t, filepath.Dir(s.dataDir), 8<<20)

	r := s.send("PUT", u.UploadURL, strings.NewReader("x"), header{"Content-Type", u.ContentType})
	r.problem(t, http.StatusInsufficientStorage, "insufficient_storage")
	r = s.call("POST", "/api/video", tinyVideo)
	r.problem(t, http.StatusInsufficientStorage, "insufficient_storage")
	s.deleteVideo(old.ID)
	free()
	s.put(u, clip(t, smallClip))
	s.complete(u.ID)
	s.wantVideo(s.waitReady(u), smallFrames)
}

// TestAFullDiskIsLeftByDeleting takes the last byte of the disk: the service still starts, and videos
// can be deleted. When even the space that was held for this is gone, the start says why it fails.
func TestAFullDiskIsLeftByDeleting(t *testing.T) {
	oneMachineOnly(t, "the database does not need the disk of this machine")
	t.Parallel()
	s := start(t, withDataDir(smallDisk(t)))
	disk := filepath.Dir(s.dataDir)
	first, second := s.publish(tinyVideo, clip(t, smallClip)), s.publish(tinyVideo, clip(t, smallClip))
	free := s.fillDisk()
	s.deleteVideo(first.ID)
	free()
	s.stop()

	if err := diskspace.NewEmergency(s.dataDir, 16<<20).Hold(); err != nil { // the service does so every minute
		t.Fatal(err)
	}
	free = rig.Fill(t, disk)
	s.launch()
	s.waitReadyz()
	s.deleteVideo(second.ID)
	s.stop()
	free()

	rig.Fill(t, disk)
	s.launch()
	s.waitExit(startTimeout)
	said := s.out.String() + s.log.String()
	if !strings.Contains(said, "is full: ") || strings.Contains(said, "sandbox=off") {
		t.Errorf("a start on a full disk says %s", said)
	}
}

// TestCreatesDoNotFillTheDisk creates videos until it is refused: what is left is the reserve, and the
// space of videos that are deleted is used again. (SQLite's log takes some MiB of it.)
func TestCreatesDoNotFillTheDisk(t *testing.T) {
	oneMachineOnly(t, "the database does not need the disk of this machine")
	t.Parallel()
	s := start(t, withDataDir(smallDisk(t)))
	disk := filepath.Dir(s.dataDir)
	takeAllBut(t, disk, 28<<20)
	large := tinyVideo
	large.CustomMetadata = []byte(`{"a":"` + strings.Repeat("x", 15<<10) + `"}`)
	var made []upload
	for {
		r := s.call("POST", "/api/video", large)
		if r.status == http.StatusInsufficientStorage {
			r.problem(t, http.StatusInsufficientStorage, "insufficient_storage")
			break
		}
		if made = append(made, decode[upload](t, r, http.StatusCreated)); len(made) > 5000 {
			t.Fatal("5000 videos fit into 12 MiB")
		}
	}
	if free, err := diskspace.Free(disk); err != nil || free < 12<<20 {
		t.Errorf("%d videos leave %d bytes free (%v); want most of the reserve", len(made), free, err)
	}
	s.restart()
	for _, u := range made[:len(made)/2] {
		s.deleteVideo(u.ID)
	}
	s.create(large)
}

// fillDisk takes the last byte of the disk that holds the data directory, and returns how to give all back. The
// space that is held for deletions is taken before: a server that finds no room for all of it gives back what it
// had of it, and the disk would not be full.
func (s *server) fillDisk() (free func()) {
	s.t.Helper()
	if !onFleet() {
		s.until("disk space to be held", readyTimeout, func() bool {
			info, err := os.Stat(filepath.Join(s.dataDir, diskspace.EmergencyFile))
			return err == nil && info.Size() == diskspace.EmergencySize
		})
	}
	return rig.Fill(s.t, filepath.Dir(s.dataDir))
}

// takeAllBut grows the ballast until only so many bytes are free.
func takeAllBut(t testing.TB, dir string, left uint64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, rig.Ballast), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		free, err := diskspace.Free(dir)
		if err != nil {
			t.Fatal(err)
		}
		if free <= left {
			return
		}
		if _, err := f.Write(make([]byte, 256<<10)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskDelaysAVideoAndDoesNotFailIt(t *testing.T) {
	t.Parallel()
	for kind, pattern := range map[string]string{
		"inspect": inspectRun, "encode": encodeRun, "audio": audioRun, "thumbnails": thumbnailsRun,
	} {
		t.Run(kind, func(t *testing.T) {
			if kind != "inspect" {
				usuallyOneBackend(t, "only fetching the source is different on a fleet")
			}
			if kind != "inspect" && kind != "encode" {
				need.TimeFor(t, "encode stands for it: every task waits for the disk in the same way")
			}
			t.Parallel()
			g := newGate(t, pattern, hold)
			// One task at a time: another one would give room back when it ends.
			s := start(t, g.tools(), withDataDir(smallDisk(t)), withEnv("SPOOL_WORKERS", "1"))
			u := s.create(tinyVideo)
			s.put(u, clip(t, smallClip))
			var free func()
			if kind == "inspect" && onFleet() { // it needs the disk for nothing but the source
				g.open()
				free = s.fillDisk()
				s.complete(u.ID)
			} else {
				s.complete(u.ID)
				s.until("the task to run", readyTimeout, func() bool { return g.runs() > 0 })
				free = s.fillDisk()
				g.release()
			}
			s.until("the task to find the disk full", readyTimeout, func() bool { return s.retried(kind) })
			s.wantStatus(u, "processing")

			free()
			began := time.Now()
			w := s.waitReady(u)
			t.Logf("ready %s after there was room again", time.Since(began).Round(time.Millisecond))
			s.wantVideo(w, smallFrames)
			s.wantTidy(u)
		})
	}
}

// retried reports whether the log says that a task of this kind met trouble
// that is not the video's fault.
func (s *server) retried(kind string) bool {
	for line := range strings.Lines(s.log.String()) {
		var entry struct{ Msg, Task string }
		if parseJSON(line, &entry) && entry.Msg == "a task failed and will run again" && strings.HasPrefix(entry.Task, kind+"/") {
			return true
		}
	}
	return false
}
