package e2e

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// Assembling starts no process: the failpoints rendition-staged and rendition-linked
// kill the server there.
func TestATaskWhoseServerIsKilledRunsAgain(t *testing.T) {
	t.Parallel()
	for kind, pattern := range map[string]string{
		"inspect": inspectRun, "encode": encodeRun, "audio": audioRun, "thumbnails": thumbnailsRun, "poster": posterRun, "pictures": picturesRun,
	} {
		t.Run(kind, func(t *testing.T) {
			usuallyOneBackend(t, "TestFrozenWorkerComesBack and TestKilledWhilePublishing of test/cluster lose workers there")
			if kind != "inspect" && kind != "encode" {
				need.TimeFor(t, "the queue treats all kinds alike, and two others run here")
			}
			t.Parallel()
			g := newGate(t, pattern, hold)
			options := []option{g.tools()}
			if kind == "pictures" {
				options = append(options, pictured())
			}
			s := start(t, options...)
			u := s.submit(tinyVideo, clip(t, smallClip))
			s.until("the task to run", readyTimeout, func() bool { return g.runs() == 1 })
			if len(children(s.dataDir)) == 0 {
				t.Fatal("the task has no process")
			}
			s.kill()
			s.wantNoChildren(10 * time.Second)

			g.open()
			began := time.Now()
			s.launch()
			s.until("the task to run again", readyTimeout, func() bool { return g.runs() >= 2 })
			took := time.Since(began)
			t.Logf("%s ran again %s after the restart", kind, took.Round(time.Millisecond))
			if limit := resumeLimit(); took > limit {
				t.Errorf("%s ran again after %s; want %s at the very most", kind, took, limit)
			}
			s.waitReadyz()
			s.wantVideo(s.waitReady(u), smallFrames)
			s.wantTidy(u)
		})
	}
}

func TestAKillDuringAnUploadLeavesNothing(t *testing.T) {
	oneMachineOnly(t, "files go to the bucket, which lives on")
	t.Parallel()
	s := start(t)
	u := s.create(tinyVideo)
	whole := readFile(t, clip(t, smallClip))

	body, client := io.Pipe()
	broken := make(chan error, 1)
	go func() {
		_, err := s.trySend("PUT", u.UploadURL, body, header{"Content-Type", u.ContentType})
		broken <- err
	}()
	if _, err := io.WriteString(client, whole[:len(whole)/2]); err != nil {
		t.Fatalf("send half of the file: %v", err)
	}
	s.until("bytes to arrive on disk", readyTimeout, func() bool { return objectBytes(s.objectsDir) > 0 })
	s.kill()
	client.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-broken; err == nil {
		t.Fatal("the upload was answered though the server was killed in the middle")
	}

	s.restart()
	u = s.moved(u)
	s.wantStatus(u, "pending_upload")
	s.until("the half file to be removed", tidyTimeout, func() bool { return len(s.files()) == 0 })
	s.putBody(u, bytes.NewReader([]byte(whole)))
	s.complete(u.ID)
	s.wantVideo(s.waitReady(u), smallFrames)
	s.wantTidy(u)
}

// objectBytes adds up the sizes of the objects below dir.
func objectBytes(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // files come and go
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// How many frames two clips have.
const (
	chunksFrames = 36 * 10
	longFrames   = 65 * 5
)

func TestAStopInTheMiddleOfAVideoKeepsItsFinishedChunks(t *testing.T) {
	oneBackend(t, "TestRollingRestart of test/cluster stops workers of a fleet in the middle of videos")
	t.Parallel()
	g := newGate(t, laterChunkRun, hold)
	const grace = 10 * time.Second
	s := start(t, g.tools(), withEnv("SPOOL_WORKERS", "1"), withEnv("SPOOL_GRACE", grace.String()))
	u := s.submit(newVideo{Filename: "chunks.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, chunksClip))
	s.until("the second chunk to be in work", readyTimeout, func() bool { return g.runs() == 1 })

	took := s.stop()
	t.Logf("the stop took %s", took.Round(time.Millisecond))
	if took > grace {
		t.Errorf("the stop took %s, longer than the grace time of %s", took, grace)
	}
	s.wantNoChildren(10 * time.Second)
	g.open()
	s.restart()
	s.wantVideo(s.waitReady(u), chunksFrames)
	s.wantTidy(u)

	ends := s.taskEnds(u.ID)
	chunks := 0
	for task, outcomes := range ends {
		if !strings.HasPrefix(task, "encode/") {
			continue
		}
		chunks++
		if outcomes["done"] != 1 {
			t.Errorf("%s was done %d times; want once", task, outcomes["done"])
		}
	}
	if chunks < 3 {
		t.Errorf("the video has %d chunks; want at least 3", chunks)
	}
	if ends["encode/1"]["stopped"] != 1 {
		t.Errorf("the second chunk ended like this: %v; want it to be stopped once", ends["encode/1"])
	}
}
