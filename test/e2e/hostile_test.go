package e2e

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spool-video/spool/test/hostile"
	"github.com/spool-video/spool/test/need"
)

// TestHostileListsReachNothing uploads lists that name somebody else's video in
// the folder of the server's own data, and an address of this machine.
func TestHostileListsReachNothing(t *testing.T) {
	oneBackend(t, "the same engine reads local files there")
	t.Parallel()
	s := start(t)
	film, err := os.ReadFile(clip(t, miniClip))
	if err != nil {
		t.Fatal(err)
	}
	bait := hostile.Bait{File: filepath.Join(s.dataDir, "secret.mp4"), Neighbour: "source", Address: listen(t)}
	if err := os.WriteFile(bait.File, film, 0o600); err != nil {
		t.Fatal(err)
	}
	touched := watchFile(t, bait.File)
	for _, l := range hostile.Lists(bait) {
		u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
		s.putBody(u, bytes.NewReader(l.Make()))
		s.tryComplete(u.ID).problem(t, http.StatusUnprocessableEntity, hostile.NotAVideo)
	}
	uploads := map[string]upload{}
	dressed := hostile.Dressed(bait)
	for _, d := range dressed {
		uploads[d.Name] = s.submitBytes(d.Make())
	}
	for _, d := range dressed {
		s.wantEnd(t, d, uploads[d.Name])
	}
	if touched() {
		t.Error("a list has opened somebody else's video")
	}
	if _, err := os.ReadFile(bait.File); err != nil || !touched() {
		t.Errorf("whoever reads the video is not noticed (%v)", err)
	}
}

// watchFile returns a function that reports whether somebody has opened a file
// since it was called last.
func watchFile(t *testing.T, path string) (touched func() bool) {
	t.Helper()
	events, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(events) })
	if _, err := unix.InotifyAddWatch(events, path, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		var b [4096]byte
		n, _ := unix.Read(events, b[:]) // an error means that nothing has happened
		return n > 0
	}
}

// listen returns an address on this machine. A call to it fails the test.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		if n := calls.Load(); n > 0 {
			t.Errorf("the address in the lists was called %d times", n)
		}
	})
	return l.Addr().String()
}

func (s *server) submitBytes(file []byte) upload {
	s.t.Helper()
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true, Thumbnails: []float64{0}})
	s.putBody(u, bytes.NewReader(file))
	s.complete(u.ID)
	return u
}

// wantEnd waits until a hostile file is dealt with and checks how.
func (s *server) wantEnd(t *testing.T, h hostile.Sample, u upload) {
	t.Helper()
	w := s.waitFinished(u)
	if w.Status == "ready" {
		if !slices.Contains(h.Ends, hostile.Converted) {
			t.Errorf("%s became a video; want one of %q", h.Name, h.Ends)
		}
		return
	}
	if !slices.Contains(h.Ends, w.Failure.Code) {
		t.Errorf("%s failed with %+v; want one of %q", h.Name, w.Failure, h.Ends)
	}
	checkFailed(t, w, w.Failure.Code)
}

// TestHostileBombsDisturbNobody uploads bombs at once, and two videos among them. test/hostile
// looks at every bomb alone.
func TestHostileBombsDisturbNobody(t *testing.T) {
	oneBackend(t, "the same engine reads local files there")
	need.TimeFor(t, "test/hostile looks at every bomb")
	t.Parallel()
	s := start(t)
	chosen := []string{
		"8 tracks of 10 million samples each", "50,000 samples of one byte", "complaints without end",
		"the largest picture that is allowed, 8 times", "100,000 chapters", "900 tracks", "a picture of 16384 × 16384 pixels",
		"two pictures 10 hours apart", "250,000 pictures in laces", "300 programs of 190 streams each",
	}
	var bombs []hostile.Sample
	for _, b := range hostile.Bombs() {
		if slices.Contains(chosen, b.Name) {
			bombs = append(bombs, b)
		}
	}
	if len(bombs) != len(chosen) {
		t.Fatalf("found %d of %d bombs", len(bombs), len(chosen))
	}
	var uploads []upload
	for _, b := range bombs {
		uploads = append(uploads, s.submitBytes(b.Make()))
	}
	film := newVideo{Filename: "good.mp4", Resolutions: []string{"144p"}, IsPublic: true}
	good := []upload{s.submit(film, clip(t, tinyClip)), s.submit(film, clip(t, silentClip))}

	stop := make(chan struct{})
	pulse := s.takePulse(stop)
	for _, u := range good {
		s.waitReady(u)
	}
	for i, b := range bombs {
		s.wantEnd(t, b, uploads[i])
	}
	close(stop)
	beats := <-pulse
	slices.Sort(beats)
	worst, memory := beats[len(beats)*99/100], peakMemory(t, s.cmd.Process.Pid)
	t.Logf("of %d probes 99 %% took at most %s; the server took %d MiB", len(beats), worst, memory>>20)
	if worst > slowProbe {
		t.Errorf("99 %% of the probes took up to %s; want less than %s", worst, slowProbe)
	}
	if memory > 256<<20 {
		t.Errorf("the server took %d MiB; want at most 256", memory>>20)
	}
	s.wantTidy(append(uploads, good...)...)
}

// slowProbe is more than an answer takes on a machine that others keep busy, and less than
// it takes to deal with a bomb.
const slowProbe = 5 * time.Second

// takePulse asks the server whether it lives until stop is closed, and then
// tells how long each answer took.
func (s *server) takePulse(stop <-chan struct{}) <-chan []time.Duration {
	done := make(chan []time.Duration, 1)
	go func() {
		var beats []time.Duration
		tick := time.NewTicker(pollPause)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- beats
				return
			case <-tick.C:
			}
			began := time.Now()
			if r, err := s.trySend("GET", s.url+"/healthz", nil); err != nil || r.status != http.StatusOK {
				s.t.Errorf("the server answers %d, %v", r.status, err)
			}
			beats = append(beats, time.Since(began))
		}
	}()
	return done
}
