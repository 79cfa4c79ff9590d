package e2e

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// largeFilm makes a film of so many MiB that cannot be compressed: a clip, and a box that says nothing.
func largeFilm(t testing.TB, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := content(t, clip(t, tinyClip))
	rest := size - int64(len(head))
	head = binary.BigEndian.AppendUint32(head, 1) // the length follows in 64 bits
	head = append(head, "free"...)
	head = binary.BigEndian.AppendUint64(head, uint64(rest))
	if _, err := f.Write(head); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{7}), rest-16); err != nil {
		t.Fatal(err)
	}
}

func checksum(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d bytes, %x", n, hash.Sum(nil))
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// TestALargeUploadSurvives 20 cuts and 3 restarts of the server, with the memory of a small one.
func TestALargeUploadSurvives(t *testing.T) {
	need.TimeFor(t, "it sends 6 GiB; TestTheGoClientResumes sends less")
	oneMachineOnly(t, "the file is compared on the disk")
	t.Parallel()
	s := start(t)
	way := newCutter(t, s)
	size := rig.Setting(t, "SPOOL_TEST_UPLOAD_MIB", 6<<10) * mib
	dir := t.TempDir()
	film := filepath.Join(dir, "film.mp4")
	largeFilm(t, film, size)
	const cuts, restarts = 20, 3
	way.every.Store(size / (cuts + 1))

	cmd := s.remote(dir, "upload", "film.mp4", "--resolutions=144p", "--server="+way.address, "--json")
	printed, said := new(rig.Transcript), new(rig.Transcript)
	cmd.Stdout, cmd.Stderr = printed, said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= restarts; n++ {
		s.until("the next cut", 10*time.Minute, func() bool { return way.cuts.Load() >= n*cuts/(restarts+1) })
		s.restart()
		way.follow(s)
	}
	var peak int
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.until("the end of the upload", 30*time.Minute, func() bool {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil {
			if m := highWater.FindSubmatch(status); m != nil {
				peak, _ = strconv.Atoi(string(m[1]))
			}
		}
		return len(ended) > 0
	})
	if err := <-ended; err != nil {
		t.Fatalf("it ends with %v and says %s", err, said)
	}
	t.Logf("%d MiB in %s with %d cuts and %d restarts; peak memory %d MiB", size/mib, time.Since(began).Round(time.Second), way.cuts.Load(), restarts, peak>>10)
	if way.cuts.Load() < cuts || peak == 0 || peak > 128<<10 {
		t.Errorf("%d cuts, peak memory %d KiB", way.cuts.Load(), peak)
	}
	want := checksum(t, film)
	objects := s.objects("source/" + jsonLines(t, printed.String())["film.mp4"].ID)
	if len(objects) != 1 || checksum(t, filepath.Join(s.objectsDir, objects[0])) != want {
		t.Errorf("%v differ from %s", objects, want)
	}
}
