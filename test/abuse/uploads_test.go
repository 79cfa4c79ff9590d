package abuse

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/test/rig"
)

// attackDisk creates videos until the disk is full.
func attackDisk(t *testing.T, o *outcome) {
	if os.Geteuid() != 0 {
		o.skip("only root can mount a file system of 64 MiB")
	}
	s := startIn(t, filepath.Join(rig.Disk(t, 64), "data"), "SPOOL_RATE_LIMIT=0")
	mallory := s.newKey("mallory")
	body := `{"filename":"a.mp4","isPublic":true,"resolutions":["144p"],"customMetadata":{"a":"` + strings.Repeat("x", 16_000) + `"}}`
	var ids []string
	var last reply
	for len(ids) < 20_000 {
		last = mallory.send("POST", "/api/video", strings.NewReader(body), "Content-Type", "application/json")
		if last.status != http.StatusCreated {
			break
		}
		var u upload
		if err := json.Unmarshal(last.body, &u); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, u.ID)
	}
	o.holds(last.status == 507, "creates on a disk of 64 MiB end with 507", "%d after %d videos", last.status, len(ids))
	r := mallory.send("DELETE", "/api/video/"+ids[0], nil)
	o.holds(r.status == 200, "DELETE works", "%d", r.status)
	r = mallory.send("PATCH", "/api/video/"+ids[1], strings.NewReader(`{"title":"longer"}`), "Content-Type", "application/json")
	o.holds(r.status == 507, "PATCH gets 507", "%d", r.status)
	s.kill()
	began := time.Now()
	s.launch()
	mallory.url = s.url
	o.holds(true, "a restart works", "ready after %s", time.Since(began).Round(10*time.Millisecond))
	const clients = 8
	results := parallel(clients, 1, func(i int) string {
		for n := 1 + i; n < len(ids); n += clients {
			if r := mallory.send("DELETE", "/api/video/"+ids[n], nil); r.status != http.StatusOK {
				return fmt.Sprintf("%d %s", r.status, r.code())
			}
		}
		return "200"
	})
	o.holds(results["200"] == clients, "DELETE of all of them, 8 at a time", "%s", statuses(results))
	again := mallory.send("POST", "/api/video", strings.NewReader(body), "Content-Type", "application/json").status
	o.holds(again == 201, "after deleting them, creates work again", "%d", again)
}

// attackUploads sends many PUTs to one address, each as slowly as it may.
func attackUploads(t *testing.T, o *outcome) {
	s := start(t, "SPOOL_UPLOAD_URL_TTL=1m", "SPOOL_ABANDONED_AFTER=1m")
	mallory := s.newKey("mallory")
	u := mallory.create(`["144p"]`, "")
	began := time.Now()
	var ended atomic.Int64
	seen := make(chan map[string]int)
	go func() {
		seen <- parallel(16, 1, func(int) string {
			r := mallory.send("PUT", u.UploadURL, &trickling{first: 1 << 20}, "Content-Type", u.ContentType)
			ended.Store(int64(time.Since(began)))
			return fmt.Sprintf("%d %s", r.status, r.code())
		})
	}()
	until(t, "the first bytes", time.Minute, func() bool { return s.stored() >= 1<<20 })
	time.Sleep(20 * time.Second) // by now one of them has won
	bytes := s.stored()
	o.holds(bytes < 3<<20, "of 16 PUTs of 1 MiB and then one byte a minute, the bytes of one are on the disk", "%.1f MiB", float64(bytes)/(1<<20))
	results := <-seen
	o.holds(time.Duration(ended.Load()) < 5*time.Minute && s.stored() < 1<<20, "all end within 5 minutes, and nothing is left",
		"%s, %d bytes left, after %.0f s", statuses(results), s.stored(), time.Duration(ended.Load()).Seconds())
}

// trickling is a body that brings some bytes at once, and then one a minute.
type trickling struct{ first int }

func (r *trickling) Read(p []byte) (int, error) {
	if n := min(r.first, len(p)); n > 0 {
		r.first -= n
		return n, nil
	}
	time.Sleep(50 * time.Second)
	return 1, nil
}

// attackByEnlarging has small files enlarged to 8k, while another tenant waits.
func attackByEnlarging(t *testing.T, o *outcome) {
	s := start(t)
	mallory, alice := s.newKey("mallory"), s.newKey("alice")
	file := smallClip(t)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	_, alone := alice.wait(alice.submit(`["144p"]`, "", file).ID, 2*time.Minute)
	var all []upload
	for range 10 {
		all = append(all, mallory.submit(`["8k","4k","1440p","1080p"]`, `,"upscale":true`, file))
	}
	_, beside := alice.wait(alice.submit(`["144p"]`, "", file).ID, 5*time.Minute)
	waiting := 0
	for _, u := range all {
		if mallory.read(u.ID).Status == "processing" {
			waiting++
		}
	}
	o.holds(beside < 5*alone+30*time.Second, "another tenant's video is ready meanwhile", "after %.1f s, alone %.1f s; %d of 10 attackers still wait", beside.Seconds(), alone.Seconds(), waiting)
	v, _ := mallory.wait(all[0].ID, 5*time.Minute)
	height := 0
	for _, r := range v.Resolutions {
		height = max(height, min(r.Width, r.Height))
	}
	o.holds(height <= 360, "`upscale` to 8k of 320x180: at most twice its size", "%dp from %d KB", height, info.Size()/1000)
}

// attackWithRevokedKey uses a playback URL after its signing key was revoked.
func attackWithRevokedKey(t *testing.T, o *outcome) {
	s := start(t)
	alice := s.newKey("alice")
	r := alice.must("POST", "/api/video", `{"filename":"a.mp4","isPublic":false,"resolutions":["144p"]}`, "Content-Type", "application/json")
	var u upload
	if err := json.Unmarshal(r.body, &u); err != nil {
		t.Fatal(err)
	}
	var keys []struct{ ID string }
	if err := json.Unmarshal([]byte(s.cli("signing-keys", "list", "--json")), &keys); err != nil {
		t.Fatal(err)
	}
	s.cli("signing-keys", "revoke", "--yes", keys[0].ID)
	took := until(t, "the URL to be refused", time.Minute, func() bool {
		return alice.send("PUT", u.UploadURL, strings.NewReader("x"), "Content-Type", u.ContentType).status == 403
	})
	o.holds(took < 10*time.Second, "URLs of a revoked signing key get 403 within seconds", "after %.1f s", took.Seconds())
}

// attackAfterDelete uploads to a video that was deleted.
func attackAfterDelete(t *testing.T, o *outcome) {
	s := start(t)
	alice := s.newKey("alice")
	u := alice.create(`["144p"]`, "")
	alice.must("DELETE", "/api/video/"+u.ID, "")
	r := alice.send("PUT", u.UploadURL, io.LimitReader(rig.Zeros{}, 1<<20), "Content-Type", u.ContentType)
	o.holds(r.status == 404 && s.stored() < 1<<10, "a PUT after DELETE is refused, and nothing is stored", "%d %s, %d bytes", r.status, r.code(), s.stored())
}
