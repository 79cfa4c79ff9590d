package abuse

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// client is somebody with an API key.
type client struct {
	t    *testing.T
	url  string
	key  string
	http *http.Client
}

func newClient(t *testing.T, url, key string) *client {
	return &client{t: t, url: url, key: key, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 512}}}
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// code returns the code of a refusal.
func (r reply) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(r.body, &p)
	return p.Code
}

// send sends a request. A broken connection is status 0.
func (c *client) send(method, address string, body io.Reader, headers ...string) reply {
	if strings.HasPrefix(address, "/") {
		address = c.url + address
		headers = append(headers, "X-API-KEY", c.key)
	}
	req, err := http.NewRequest(method, address, body)
	if err != nil {
		return reply{}
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{}
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, text}
}

// must is send for what an honest client does: it waits when it is told to, and wants success.
func (c *client) must(method, address, body string, headers ...string) reply {
	c.t.Helper()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		var r io.Reader
		if body != "" {
			r = strings.NewReader(body)
		}
		got := c.send(method, address, r, headers...)
		if got.status >= 200 && got.status < 300 {
			return got
		}
		if got.status != http.StatusTooManyRequests && got.status != http.StatusServiceUnavailable || time.Since(began) > time.Minute {
			c.t.Fatalf("%s %s answers %d %s", method, address, got.status, got.body)
		}
	}
}

// upload is the answer to a create.
type upload struct{ ID, UploadURL, ContentType string }

// create makes a video; more are further fields, such as `,"upscale":true`.
func (c *client) create(resolutions, more string) upload {
	c.t.Helper()
	r := c.must("POST", "/api/video", `{"filename":"a.mp4","isPublic":true,"resolutions":`+resolutions+more+`}`, "Content-Type", "application/json")
	var u upload
	if err := json.Unmarshal(r.body, &u); err != nil {
		c.t.Fatal(err)
	}
	return u
}

// createMany makes videos with metadata of so many bytes.
func (c *client) createMany(n, metadata int) {
	c.t.Helper()
	more := `,"customMetadata":{"album":"` + strings.Repeat("x", metadata-20) + `"}`
	var all sync.WaitGroup
	next := make(chan struct{}, n)
	for range n {
		next <- struct{}{}
	}
	close(next)
	for range 8 {
		all.Go(func() {
			for range next {
				c.create(`["144p"]`, more)
			}
		})
	}
	all.Wait()
}

// submit creates a video, uploads the file and completes the upload.
func (c *client) submit(resolutions, more, file string) upload {
	c.t.Helper()
	u := c.create(resolutions, more)
	content, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	c.must("PUT", u.UploadURL, string(content), "Content-Type", u.ContentType)
	c.must("POST", "/api/video/"+u.ID+"/complete-upload", "")
	return u
}

// state is what the API tells about a video.
type state struct {
	Status      string
	Failure     *struct{ Code string }
	Captions    []struct{ URL string }
	Resolutions map[string]struct {
		ID, Status, VideoURL string
		Width, Height        int
	}
}

func (c *client) read(id string) (s state) {
	c.t.Helper()
	r := c.must("GET", "/api/video/"+id+"/public", "")
	if err := json.Unmarshal(r.body, &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// wait waits until a video is ready or has failed.
func (c *client) wait(id string, limit time.Duration) (s state, took time.Duration) {
	c.t.Helper()
	took = until(c.t, "a video to end", limit, func() bool {
		s = c.read(id)
		return s.Status == "ready" || s.Status == "fail"
	})
	return s, took
}

// clip returns a file that ffmpeg makes from these arguments, once.
func clip(t *testing.T, name, arguments string) string {
	t.Helper()
	path := filepath.Join(lab.dir, name)
	err := lab.clips.Once(name, func() error {
		cmd := exec.Command("ffmpeg", append(append([]string{"-v", "error", "-nostdin"}, strings.Fields(arguments)...), path)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		if err != nil {
			t.Log(stderr.String())
		}
		return err
	})
	if err != nil {
		t.Fatalf("make clip %s: %v", name, err)
	}
	return path
}

// smallClip is a video of 2 s, 320x180.
func smallClip(t *testing.T) string {
	return clip(t, "small.mp4", "-f lavfi -i testsrc2=size=320x180:rate=25 -t 2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p")
}
