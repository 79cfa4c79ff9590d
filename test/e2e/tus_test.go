package e2e

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/test/rig"
)

const (
	mib = 1 << 20
	// bucketPart is the size of the parts of objects in a bucket.
	bucketPart = 16 * mib
)

// resumable is an upload in pieces, as a client does it.
type resumable struct {
	s     *server
	u     upload
	whole []byte
}

// bulky returns a clip that players do not tell from the original, and that is
// larger than the parts of a bucket: a box that says nothing follows it.
func bulky(t testing.TB, size int) []byte {
	t.Helper()
	whole := content(t, clip(t, smallClip))
	box := make([]byte, size-len(whole))
	if _, err := rand.NewChaCha8([32]byte{}).Read(box); err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(box, uint32(len(box)))
	copy(box[4:], "free")
	return append(whole, box...)
}

// begin creates a video and an upload for the whole file.
func (s *server) begin(v newVideo, whole []byte) *resumable {
	s.t.Helper()
	r := &resumable{s: s, u: s.create(v), whole: whole}
	answer := r.send("POST", nil, header{"Upload-Length", strconv.Itoa(len(whole))})
	if answer.status != http.StatusCreated || answer.header.Get("Location") != r.u.TusURL || answer.header.Get("Upload-Expires") == "" {
		s.t.Fatalf("POST answers %d %v %s; want 201 and the same address as Location", answer.status, answer.header, answer.body)
	}
	return r
}

func (r *resumable) send(method string, body io.Reader, headers ...header) reply {
	r.s.t.Helper()
	return r.s.send(method, r.u.TusURL, body, append([]header{{"Tus-Resumable", "1.0.0"}}, headers...)...)
}

// at goes on at another server, or at the same one after a restart.
func (r *resumable) at(s *server) {
	address, err := url.Parse(r.u.TusURL)
	if err != nil {
		r.s.t.Fatal(err)
	}
	r.s, r.u.TusURL = s, s.url+address.RequestURI()
}

// offset asks how much has come.
func (r *resumable) offset() int {
	r.s.t.Helper()
	answer := r.send("HEAD", nil)
	n, err := strconv.Atoi(answer.header.Get("Upload-Offset"))
	if answer.status != http.StatusOK || err != nil || answer.header.Get("Upload-Length") != strconv.Itoa(len(r.whole)) {
		r.s.t.Fatalf("HEAD answers %d %v; want 200, an offset, and the length %d", answer.status, answer.header, len(r.whole))
	}
	return n
}

func piece(from int) []header {
	return []header{{"Content-Type", "application/offset+octet-stream"}, {"Upload-Offset", strconv.Itoa(from)}}
}

// patch sends the bytes from up to to.
func (r *resumable) patch(from, to int) {
	r.s.t.Helper()
	answer := r.send("PATCH", bytes.NewReader(r.whole[from:to]), piece(from)...)
	if answer.status != http.StatusNoContent || answer.header.Get("Upload-Offset") != strconv.Itoa(to) {
		r.s.t.Fatalf("PATCH of %d to %d answers %d %v %s", from, to, answer.status, answer.header, answer.body)
	}
}

// hang begins to send the rest, and stops in the middle. The request goes on
// until the connection is closed; its answer, if there is one, is sent.
func (r *resumable) hang(from, to int) (connection *io.PipeWriter, answers <-chan reply) {
	r.s.t.Helper()
	body, connection := io.Pipe()
	got := make(chan reply, 1)
	address := r.u.TusURL
	headers := append(piece(from), header{"Tus-Resumable", "1.0.0"})
	go func() {
		defer close(got)
		if answer, err := r.s.trySend("PATCH", address, sized{body, int64(len(r.whole) - from)}, headers...); err == nil {
			got <- answer
		}
		body.Close()
	}()
	if _, err := connection.Write(r.whole[from:to]); err != nil {
		r.s.t.Fatalf("the server does not take the piece: %v", err)
	}
	r.s.until("the piece to arrive", 30*time.Second, func() bool { return r.received(to) })
	return connection, got
}

// received reports whether the server has so many bytes, in its storage or on
// the way there.
func (r *resumable) received(to int) bool {
	if !onFleet() {
		fi, err := os.Stat(filepath.Join(r.s.objectsDir, "upload", r.u.ID, "file.part"))
		return err == nil && fi.Size() >= int64(to)
	}
	files, err := os.ReadDir(filepath.Join(r.s.dataDir, "incoming"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		fi, err := f.Info()
		return err == nil && fi.Size() >= int64(to%bucketPart)
	})
}

// finish completes the upload and wants the video, the very bytes that were sent,
// and nothing else.
func (r *resumable) finish() {
	r.s.t.Helper()
	if got := r.offset(); got != len(r.whole) {
		r.s.t.Fatalf("the offset at the end is %d; want %d", got, len(r.whole))
	}
	r.s.complete(r.u.ID)
	r.s.wantVideo(r.s.waitReady(r.u), smallFrames)
	for _, name := range r.s.objects("source/" + r.u.ID) {
		if stored, err := os.ReadFile(filepath.Join(r.s.objectsDir, name)); err != nil || !bytes.Equal(stored, r.whole) {
			r.s.t.Errorf("the source has %d bytes and differs from the %d that were sent (%v)", len(stored), len(r.whole), err)
		}
	}
	r.s.wantTidy(r.u)
	r.s.wantNoParts()
}

// wantNoParts wants nothing half-written in the bucket.
func (s *server) wantNoParts() {
	s.t.Helper()
	if !onFleet() {
		return
	}
	out, err := s.bucket.server.Client().ListMultipartUploads(s.t.Context(), &s3.ListMultipartUploadsInput{Bucket: &s.bucket.name})
	if err != nil || len(out.Uploads) > 0 {
		s.t.Errorf("%d uploads in parts are left in the bucket (%v)", len(out.Uploads), err)
	}
}

// TestAResumableUploadSurvives a connection that breaks, a complete-upload that
// comes too early, and a server that is killed, and stopped, in the middle of a
// piece.
func TestAResumableUploadSurvives(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.begin(tinyVideo, bulky(t, 38*mib))
	r.patch(0, 18*mib)

	connection, _ := r.hang(18*mib, 20*mib)
	connection.CloseWithError(io.ErrUnexpectedEOF)
	at := r.offset()
	if at < 18*mib || at > 20*mib {
		t.Fatalf("after the break the offset is %d; want what was confirmed, %d, or more", at, 18*mib)
	}
	s.tryComplete(r.u.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")

	r.hang(at, at+mib)
	s.kill()
	s.restart()
	r.at(s)
	after := r.offset()
	if after < at || after > at+mib {
		t.Fatalf("after the kill the offset is %d; want from %d to %d", after, at, at+mib)
	}
	r.patch(after, after+2*mib)

	r.hang(after+2*mib, after+3*mib)
	if took := s.stop(); took > 15*time.Second {
		t.Errorf("the stop took %s: it waited for the rest of the upload", took)
	}
	s.restart()
	r.at(s)
	if got := r.offset(); got != after+3*mib {
		t.Errorf("after the stop the offset is %d; want all that had come, %d", got, after+3*mib)
	}
	r.patch(after+3*mib, len(r.whole))
	r.finish()
}

// TestAnyProcessTakesTheNextPart of a fleet, also while another believes to be
// in the middle of the one before.
func TestAnyProcessTakesTheNextPart(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	a := start(t)
	b := a.sibling()
	r := a.begin(tinyVideo, bulky(t, 35*mib))
	for from, turn := 0, 0; from < 27*mib; from, turn = from+9*mib, turn+1 {
		r.at([]*server{a, b}[turn%2])
		r.patch(from, from+9*mib)
	}
	r.at(a)
	_, answers := r.hang(27*mib, 28*mib)
	r.at(b)
	at := r.offset()
	if at < 27*mib || at > 28*mib {
		t.Fatalf("the offset is %d; want from %d to %d", at, 27*mib, 28*mib)
	}
	if answer, ok := <-answers; ok {
		answer.problem(t, http.StatusConflict, "upload_interrupted")
	}
	r.patch(at, len(r.whole))
	r.finish()
}

// sibling starts another process on the same database and bucket.
func (s *server) sibling() *server {
	s.t.Helper()
	other := &server{
		t: s.t, key: s.key, log: new(rig.Transcript), env: maps.Clone(s.env), dataDir: filepath.Join(s.t.TempDir(), "data"),
		objectsDir: s.objectsDir, bucket: s.bucket,
	}
	s.t.Cleanup(other.end)
	other.launch()
	other.waitReadyz()
	return other
}
