package abuse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/test/hostile"
)

// attackWithCues sends Matroska files with millions of entries in their index, which is read of files of 64 MiB and more,
// and deletes one while it is read.
func attackWithCues(t *testing.T, o *outcome) {
	s := start(t)
	mallory := s.newKey("mallory")
	file := filepath.Join(t.TempDir(), "cues.mkv")
	if err := os.WriteFile(file, indexOfCues(t, 34_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	s.costs(o, mallory, file, 50, 2*time.Second)

	u := mallory.submit(`["144p"]`, "", file)
	mallory.must("DELETE", "/api/video/"+u.ID, "")
	time.Sleep(time.Second)
	began := s.cpu()
	time.Sleep(3 * time.Second)
	used := s.cpu() - began
	o.holds(used < time.Second, "a second after its DELETE nothing is computed for it", "%.2f s of CPU in the 3 s after that", used.Seconds())
}

// indexOfCues returns a video with a cue that has so many empty positions.
func indexOfCues(t *testing.T, n int) []byte {
	t.Helper()
	film, err := os.ReadFile(clip(t, "small.mkv", "-f lavfi -i testsrc2=size=160x120:rate=10 -t 3 -c:v libx264 -pix_fmt yuv420p"))
	if err != nil {
		t.Fatal(err)
	}
	long := func(n int) []byte { return binary.BigEndian.AppendUint64(nil, 1<<56|uint64(n)) }
	element := func(id string, body []byte) []byte { return slices.Concat([]byte(id), long(len(body)), body) }
	cues := element("\x1c\x53\xbb\x6b", element("\xbb", bytes.Repeat([]byte("\xb7\x80"), n)))
	segment := bytes.Index(film, []byte("\x18\x53\x80\x67")) + 4
	copy(film[segment:], long(len(film)-segment-8+len(cues)))
	return append(film, cues...)
}

// attackWithKeyframes sends a small MP4 that lists millions of keyframes.
func attackWithKeyframes(t *testing.T, o *outcome) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "keyframes.mp4")
	bombs := hostile.Bombs()
	i := slices.IndexFunc(bombs, func(b hostile.Sample) bool { return b.Name == "8 tracks of 499,000 keyframes each" })
	if err := os.WriteFile(file, bombs[i].Make(), 0o600); err != nil {
		t.Fatal(err)
	}
	s.costs(o, s.newKey("mallory"), file, 100, 10*time.Second)
}

// costs records what the server takes to deal with a file, beside ffmpeg.
func (s *server) costs(o *outcome, c *client, file string, mebibytes int64, cpu time.Duration) {
	s.t.Helper()
	u := c.create(`["144p"]`, "")
	content, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	c.must("PUT", u.UploadURL, string(content), "Content-Type", u.ContentType)
	peak, used := s.forgetPeak(), s.cpu()
	c.must("POST", "/api/video/"+u.ID+"/complete-upload", "")
	v, took := c.wait(u.ID, 5*time.Minute)
	peak, used = s.peakMemory()-peak, s.cpu()-used
	code := ""
	if v.Failure != nil {
		code = v.Failure.Code
	}
	o.holds(peak < mebibytes<<20, fmt.Sprintf("it takes less than %d MiB of the server's memory", mebibytes), "%d MiB; %s %s after %.1f s", peak>>20, v.Status, code, took.Seconds())
	o.holds(used < cpu, fmt.Sprintf("it takes less than %s of the server's CPU time", cpu), "%.1f s", used.Seconds())
}

// attackWithSlowSources has two tenants import files that come just fast enough, as many as there are places and more.
func attackWithSlowSources(t *testing.T, o *outcome) {
	clip, err := os.ReadFile(smallClip(t))
	if err != nil {
		t.Fatal(err)
	}
	var slow, quick atomic.Int64
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quick.mp4" {
			quick.Add(1)
			_, _ = w.Write(clip)
			return
		}
		slow.Add(1)
		w.Header().Set("Content-Length", strconv.Itoa(5<<30))
		_, err := w.Write(append(clip[:16<<10:16<<10], make([]byte, 300<<10)...))
		for ; err == nil && r.Context().Err() == nil; time.Sleep(time.Second) {
			_, err = w.Write(make([]byte, 9<<10))
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(func() { source.CloseClientConnections(); source.Close() })
	s := start(t, "SPOOL_OUTBOUND_ALLOW=127.0.0.1")
	for _, tenant := range []string{"mallory", "moriarty"} {
		c := s.newKey(tenant)
		for range 6 {
			c.create(`["144p"]`, `,"sourceUrl":"`+source.URL+`/slow.mp4"`)
		}
	}
	until(t, "all places to be taken", time.Minute, func() bool { return slow.Load() >= 8 })
	alice := s.newKey("alice")
	u := alice.create(`["144p"]`, `,"sourceUrl":"`+source.URL+`/quick.mp4"`)
	waited := until(t, "another tenant's import to begin", 5*time.Minute, func() bool { return quick.Load() > 0 })
	o.holds(waited < 15*time.Second, "while two tenants import 12 files of slow sources, another tenant's import begins within 15 s", "%.1f s", waited.Seconds())
	v, _ := alice.wait(u.ID, time.Minute)
	o.holds(v.Status == "ready", "and ends", "%s", v.Status)
}
