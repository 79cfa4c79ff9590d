package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/client"
)

// client returns the Go client with the test's key.
func (s *server) client(options ...client.Option) *client.Client {
	s.t.Helper()
	return goClient(s.t, s.url, s.key, options...)
}

func goClient(t testing.TB, server, key string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(server, key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTheGoClient goes through the life of a video.
func TestTheGoClient(t *testing.T) {
	t.Parallel()
	s := shared(t)
	c, ctx := s.client(), t.Context()
	var sent, total int64
	v, err := c.UploadFile(ctx, clip(t, miniClip), client.NewVideo{
		Resolutions: []string{"144p", "240p"}, Metadata: client.Metadata{"album": 42, "place": "Rügen"}, Thumbnails: []float64{0},
	}, &client.UploadOptions{Progress: func(n, of int64) { sent, total = n, of }})
	if err != nil || v.Filename != miniClip || v.Public || sent != total || total == 0 {
		t.Fatalf("UploadFile = %+v, %v; sent %d of %d", v, err, sent, total)
	}
	changes := 0
	if v, err = c.Wait(ctx, v.ID, func(client.Video) { changes++ }); err != nil || v.Status != client.Ready || changes == 0 {
		t.Fatalf("Wait = %+v, %v after %d changes", v, err, changes)
	}
	v, err = c.Video(ctx, v.ID, time.Minute)
	if err != nil || v.Filename != miniClip || v.HLSURL == "" || v.Resolutions["144p"].Height == 0 || len(v.Resolutions["144p"].ThumbnailURLs) != 1 {
		t.Fatalf("Video = %+v, %v", v, err)
	}
	if v.SizeBytes < total+v.Resolutions["144p"].SizeBytes+v.Resolutions["240p"].SizeBytes {
		t.Errorf("all files have %d bytes, with an upload of %d and %+v", v.SizeBytes, total, v.Resolutions)
	}
	if r := s.get(v.Resolutions["144p"].VideoURL); r.status != http.StatusOK || int64(len(r.body)) != v.Resolutions["144p"].SizeBytes {
		t.Errorf("the film answers %d with %d bytes", r.status, len(r.body))
	}
	if _, err := c.PublicVideo(ctx, v.ID); client.Code(err) != "video_is_private" {
		t.Errorf("reading it as a public video gets %v", err)
	}
	wantListed(t, c, v.ID)
	wantOriginal(t, c, v.ID, clip(t, miniClip))
	report, err := c.Report(ctx, v.ID)
	if err != nil || report.Found == nil || report.Found.SizeBytes != total || report.Found.Audio == nil || report.Outputs["144p"].SizeBytes == 0 || len(report.Runs) == 0 {
		t.Errorf("Report = %+v, %v", report, err)
	}
	if u, err := c.Usage(ctx); err != nil || u.Videos != 1 || u.Bytes != total {
		t.Errorf("Usage = %+v, %v; want one video of %d bytes", u, err, total)
	}
	wantResolutions(t, c, v.ID)
	if err := c.Delete(ctx, v.ID); err != nil {
		t.Errorf("Delete = %v", err)
	}
	if _, err := c.State(ctx, v.ID); !client.IsNotFound(err) || client.Code(err) != client.CodeVideoNotFound {
		t.Errorf("a deleted video reads as %v", err)
	}
}

// wantOriginal wants the file that was uploaded, with its hash if it did not go straight to a bucket.
func wantOriginal(t *testing.T, c *client.Client, id, file string) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Original(t.Context(), id, time.Minute)
	if err != nil || o.Filename != miniClip || o.SizeBytes != int64(len(whole)) || o.SHA256 == "" && !onFleet() {
		t.Fatalf("Original = %+v, %v", o, err)
	}
	var got bytes.Buffer
	if err := c.Download(t.Context(), o, &got); err != nil || !bytes.Equal(got.Bytes(), whole) {
		t.Errorf("Download brings %d bytes of %d, %v", got.Len(), len(whole), err)
	}
	o.SHA256 = strings.Repeat("0", 64)
	if err := c.Download(t.Context(), o, io.Discard); !errors.Is(err, client.ErrOriginalChanged) {
		t.Errorf("a file with another hash gives %v", err)
	}
}

// wantListed wants exactly this video with its metadata.
func wantListed(t *testing.T, c *client.Client, id string) {
	t.Helper()
	for f, want := range map[string]string{"Rügen": id, "Sylt": ""} {
		got := ""
		for v, err := range c.Videos(t.Context(), client.Filter{
			Metadata: map[string]string{"album": "42", "place": f}, Status: client.Ready, PageSize: 1, Sort: "title", Order: "desc",
		}) {
			if err != nil {
				t.Fatal(err)
			}
			got += v.ID
		}
		if got != want {
			t.Errorf("the list of place=%s has %q, want %q", f, got, want)
		}
	}
}

// wantResolutions removes a resolution and adds one.
func wantResolutions(t *testing.T, c *client.Client, id string) {
	t.Helper()
	v, err := c.State(t.Context(), id)
	if err == nil {
		err = c.DeleteResolution(t.Context(), v.Resolutions["240p"].ID)
	}
	if err == nil {
		v, err = c.AddResolution(t.Context(), id, "360p")
	}
	if names := strings.Join(v.Names(), " "); err != nil || names != "360p 144p" {
		t.Errorf("after the change the video has %s, %v", names, err)
	}
}

func TestTheGoClientExplainsRefusals(t *testing.T) {
	oneBackend(t, "nothing is stored")
	t.Parallel()
	s := shared(t)
	ctx := t.Context()
	_, err := s.client().Create(ctx, client.NewVideo{Filename: "a.mp4", Resolutions: []string{"720p", "721p"}})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.CodeInvalidRequest || len(e.Fields) != 1 || e.Fields[0].Field != "resolutions[1]" || e.RequestID == "" {
		t.Errorf("a wrong name gets %+v", err)
	}
	if _, err := goClient(t, s.url, "wrong-key").Usage(ctx); client.Code(err) != client.CodeInvalidAPIKey {
		t.Errorf("a wrong key gets %v", err)
	}
	if _, err := goClient(t, s.url, "").Usage(ctx); client.Code(err) != client.CodeMissingAPIKey {
		t.Errorf("no key gets %v", err)
	}
	text := filepath.Join(t.TempDir(), "notes.mp4")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a video "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := s.client().UploadFile(ctx, text, client.NewVideo{Resolutions: []string{"144p"}}, nil)
	if client.Code(err) != client.CodeNotAVideo || v.ID == "" {
		t.Errorf("a text gets %+v, %v", v, err)
	}
	if _, err := s.client().Wait(ctx, v.ID, nil); !isFailure(err, "not_a_video") {
		t.Errorf("waiting for it ends with %v", err)
	}
}

// TestTheExamplesOfTheGoClient runs what its documentation shows.
func TestTheExamplesOfTheGoClient(t *testing.T) {
	oneBackend(t, "they do what TestTheGoClient does")
	t.Parallel()
	s := shared(t)
	dir := films(t, "film.mp4")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run=^Example", "../../client")
	cmd.Env = append(os.Environ(), "SPOOL_SERVER="+s.url, "SPOOL_API_KEY="+s.key, "SPOOL_TEST_FILMS="+dir, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Example") != 4 {
		t.Errorf("the examples end with %v:\n%s", err, out)
	}
}

func isFailure(err error, code string) bool {
	failed, ok := errors.AsType[*client.FailedError](err)
	return ok && failed.Code == code
}

// cutter passes connections on to a server that may move, and cuts them.
type cutter struct {
	address string
	target  atomic.Value // host:port
	every   atomic.Int64 // bytes after which a connection breaks; 0: never
	cuts    atomic.Int64
	hold    atomic.Int64 // bytes after which a connection takes no more; 0: none
	held    atomic.Int64 // connections that do not
}

func newCutter(t testing.TB, s *server) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{address: "http://" + l.Addr().String()}
	c.follow(s)
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(from)
		}
	}()
	return c
}

func (c *cutter) follow(s *server) { c.target.Store(strings.TrimPrefix(s.url, "http://")) }

func (c *cutter) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", c.target.Load().(string))
	if err != nil {
		return // as a server that is gone
	}
	defer to.Close()
	var wait sync.WaitGroup
	wait.Go(func() {
		defer from.Close()
		_, _ = io.Copy(from, to) // until one of them closes
	})
	hold, every := c.hold.Load(), c.every.Load()
	switch {
	case hold > 0:
		if n, _ := io.CopyN(to, from, hold); n == hold {
			c.held.Add(1)
			wait.Wait() // until the server gives up, or another request ends this one
		}
	case every > 0:
		if n, _ := io.CopyN(to, from, every); n == every {
			c.cuts.Add(1)
		}
	default:
		_, _ = io.Copy(to, from)
	}
	to.Close()
	wait.Wait()
}

// TestTheGoClientResumes a large upload after cuts, after the server was killed, and in another
// process of the client.
func TestTheGoClientResumes(t *testing.T) {
	usuallyOneBackend(t, "TestAResumableUploadSurvives stands for it")
	t.Parallel()
	s := start(t)
	way := newCutter(t, s)
	way.every.Store(3 * mib)
	whole := bulky(t, 38*mib)
	v := client.NewVideo{Filename: "large.mp4", Resolutions: []string{"144p"}, Public: true, IdempotencyKey: "my-upload"}

	ctx, stop := context.WithCancel(t.Context())
	var killed sync.Once
	_, err := goClient(t, way.address, s.key).Upload(ctx, v, bytes.NewReader(whole), int64(len(whole)), &client.UploadOptions{
		Progress: func(sent, _ int64) {
			if sent > 10*mib {
				killed.Do(func() {
					s.kill()
					s.launch()
					s.waitReadyz()
					way.follow(s)
				})
			}
			if sent > 24*mib {
				stop()
			}
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the first client ends with %v; want it to be stopped", err)
	}
	began := int64(-1)
	state, err := goClient(t, way.address, s.key).Upload(t.Context(), v, bytes.NewReader(whole), int64(len(whole)), &client.UploadOptions{
		Progress: func(sent, _ int64) {
			if began < 0 {
				began = sent
			}
		},
	})
	if err != nil || began < 5*mib {
		t.Fatalf("the second client began at %d and ends with %v; want it to go on", began, err)
	}
	if way.cuts.Load() < 5 {
		t.Errorf("the connection broke %d times; want a test that tests something", way.cuts.Load())
	}
	for _, name := range s.objects("source/" + state.ID) {
		if stored, err := os.ReadFile(filepath.Join(s.objectsDir, name)); err != nil || !bytes.Equal(stored, whole) {
			t.Errorf("the source has %d bytes and differs from the %d that were sent (%v)", len(stored), len(whole), err)
		}
	}
	if v, err := s.client().Wait(t.Context(), state.ID, nil); err != nil || v.Status != client.Ready {
		t.Errorf("the video ends as %+v, %v", v, err)
	}
}
