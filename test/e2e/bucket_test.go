package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestALateUploadComesToNothing sends files to the addresses of videos that are
// ready or gone. Where the server is not asked, the files are stored; neither
// may change anything, and the next sweep removes them.
func TestALateUploadComesToNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}
	kept, gone := s.submit(ask, clip(t, miniClip)), s.create(ask)
	film := s.get(s.waitReady(kept).Resolutions["144p"].VideoURL)
	s.waitIdle()
	sources := s.objects("source/" + kept.ID)
	s.deleteVideo(gone.ID)

	s.putLate(kept, http.StatusConflict, "upload_closed")
	s.putLate(gone, http.StatusNotFound, "video_not_found")
	if c := s.complete(kept.ID); c.Resolutions["144p"].Status != "ready" {
		t.Errorf("after the late upload the video is %+v", c)
	}
	s.tryComplete(gone.ID).problem(t, http.StatusNotFound, "video_not_found")
	s.sweep()
	s.wantTidy(kept)
	if got := s.objects("source/" + kept.ID); fmt.Sprint(got) != fmt.Sprint(sources) {
		t.Errorf("the sources are %q, they were %q", got, sources)
	}
	if again := s.get(s.read(kept).Resolutions["144p"].VideoURL); !bytes.Equal(again.body, film.body) {
		t.Errorf("the video has %d bytes and differs from before, when it had %d", len(again.body), len(film.body))
	}
}

// TestAFileBeyondTheLimitIsNotAccepted: a bucket takes any file of up to 5 GiB,
// so that the limit counts when the upload is completed.
func TestAFileBeyondTheLimitIsNotAccepted(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	const limit = 100_000
	s := start(t, withEnv("SPOOL_MAX_UPLOAD_BYTES", fmt.Sprint(limit)))
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	if u.MaxUploadBytes != limit {
		t.Errorf("maxUploadBytes is %d, want %d", u.MaxUploadBytes, limit)
	}
	whole := append(content(t, clip(t, miniClip)), make([]byte, limit)...)
	s.putBody(u, bytes.NewReader(whole))
	p := s.tryComplete(u.ID).problem(t, http.StatusRequestEntityTooLarge, "file_too_large")
	for _, number := range []int{limit, len(whole)} {
		if !strings.Contains(p.Detail, strconv.Itoa(number)) {
			t.Errorf("detail is %q, want it to name the limit and the size", p.Detail)
		}
	}
	checkFailed(t, s.read(u), "file_too_large")
	checkSecondChance(t, s, u)
	s.waitReady(u)
	s.wantTidy(u)
}

// TestUploadAddressesOfABucketEndWhenTheySay compares what the client is told
// with what the bucket is.
func TestUploadAddressesOfABucketEndWhenTheySay(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	s := start(t, withEnv("SPOOL_UPLOAD_URL_TTL", "90s"))
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	if end := expiry(t, u.UploadURL); end.Sub(u.UploadExpiresAt).Abs() > time.Second {
		t.Errorf("the bucket ends the address at %s, uploadExpiresAt is %s", end, u.UploadExpiresAt)
	}
	if life := time.Until(u.UploadExpiresAt); life < 80*time.Second || life > 91*time.Second {
		t.Errorf("the address lives %s, want 90 s", life)
	}
}

// expiry returns when a signed address of a bucket ends.
func expiry(t testing.TB, address string) time.Time {
	t.Helper()
	q := query(t, address)
	begin, err := time.Parse("20060102T150405Z", q.Get("X-Amz-Date"))
	if err != nil {
		t.Fatalf("%s is not a signed address: %v", address, err)
	}
	seconds, err := strconv.Atoi(q.Get("X-Amz-Expires"))
	if err != nil {
		t.Fatalf("%s is not a signed address: %v", address, err)
	}
	return begin.Add(time.Duration(seconds) * time.Second)
}

// TestAnUploadOutlivesItsServer kills the server in the middle of an upload,
// which goes past it.
func TestAnUploadOutlivesItsServer(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	s := start(t)
	u := s.create(tinyVideo)
	whole := content(t, clip(t, tinyClip))
	body, client := io.Pipe()
	answer := make(chan reply, 1)
	go func() {
		r, err := s.trySend("PUT", u.UploadURL, sized{body, int64(len(whole))}, header{"Content-Type", u.ContentType})
		if err != nil {
			t.Errorf("the upload broke: %v", err)
		}
		answer <- r
	}()
	if _, err := client.Write(whole[:len(whole)/2]); err != nil {
		t.Fatal(err)
	}
	s.kill()
	if _, err := client.Write(whole[len(whole)/2:]); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if r := <-answer; r.status != http.StatusOK {
		t.Fatalf("the bucket answers %d %s", r.status, r.body)
	}
	s.restart()
	s.complete(u.ID)
	s.wantVideo(s.waitReady(u), tinyFrames)
	s.wantTidy(u)
}

// databaseText returns everything that the server's PostgreSQL holds, and what
// is binary there as text where it is some.
func (s *server) databaseText() string {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.env["SPOOL_DATABASE_URL"])
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	var text string
	if err := conn.QueryRow(s.t.Context(), `SELECT database_to_xml(true, false, '')::text`).Scan(&text); err != nil {
		s.t.Fatal(err)
	}
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '<' || r == '>' }) {
		if b, err := base64.StdEncoding.DecodeString(field); err == nil {
			text += "\n" + string(b)
		}
	}
	return text
}
