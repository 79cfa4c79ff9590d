package tus_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/media"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/problem"
	"github.com/spool-video/spool/internal/web/tus"
)

const (
	mib   = 1 << 20
	limit = 40 * mib
	stall = 30 * time.Second
)

// bench is a server for uploads in pieces on real parts.
type bench struct {
	*app.App
	t      *testing.T
	blobs  blob.Store
	by     app.Actor
	url    string
	faults *faults       // of the bucket
	parts  func() int    // objects in parts that the bucket has
	held   func()        // called when a request has the upload for itself; may be nil
	full   error         // while it is not nil, there is no room for pieces
	left   func() uint64 // what the disk has left; nil: as much as it has

	lost atomic.Bool // requests lose what they hold
}

// onBoth runs a test on a local disk and on a bucket.
func onBoth(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		test(t, onDisk(t))
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		test(t, onBucket(t))
	})
}

func onDisk(t *testing.T) *bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "objects")
	files, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := tus.Disk(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, parts: func() int { return 0 }}
	b.blobs = measured{files, b}
	b.serve(pieces)
	return b
}

// measured is a disk that has as much room as a test wants.
type measured struct {
	*disk.Store
	bench *bench
}

func (m measured) Capabilities() blob.Capabilities {
	able := m.Store.Capabilities()
	able.Free = func() (uint64, error) {
		if m.bench.left != nil {
			return m.bench.left(), nil
		}
		return m.Store.Capabilities().Free()
	}
	return able
}

func onBucket(t *testing.T) *bench {
	t.Helper()
	server := s3test.Start(t)
	name := server.Bucket(t)
	files, err := s3.Open(t.Context(), server.URL(name, "films"), s3.Options{Credentials: server.Credentials(), PartSize: 5 * mib, MaxBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	at := files.Access()
	b := &bench{t: t, blobs: files, faults: &faults{Client: at.Client, bucket: name}}
	pieces, err := tus.Bucket(tus.BucketConfig{
		Client: b.faults, Patient: at.Patient, Bucket: at.Bucket, Prefix: at.Prefix, PartSize: at.PartSize, MaxParts: at.MaxParts,
		MaxBytes: limit, Scratch: filepath.Join(t.TempDir(), "incoming"),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.parts = func() int {
		out, err := at.Client.ListMultipartUploads(context.WithoutCancel(t.Context()), &sdk.ListMultipartUploadsInput{Bucket: &name})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Uploads)
	}
	b.serve(pieces)
	return b
}

// watched tells the bench when an upload is held, and is told when there is no
// room.
type watched struct {
	*app.App
	bench *bench
}

func (w watched) HoldUpload(ctx context.Context, id video.ID, stop func()) (app.Hold, error) {
	h, err := w.App.HoldUpload(ctx, id, stop)
	if err == nil && w.bench.held != nil {
		w.bench.held()
	}
	h.Lasts = func() bool { return !w.bench.lost.Load() }
	return h, err
}

func (w watched) RoomForPiece(length int64) error {
	return cmp.Or(w.bench.full, w.App.RoomForPiece(length))
}

func (w watched) RoomBeside(need int64, free uint64) error {
	return cmp.Or(w.bench.full, w.App.RoomBeside(need, free))
}

type deaf struct{}

func (deaf) Uploaded(int64)                             {}
func (deaf) VideoFinished(video.Status, *video.Failure) {}

// serve puts the service on the parts and starts it.
func (b *bench) serve(pieces tus.Storage) {
	b.t.Helper()
	db, err := store.OpenSQLite(b.t.Context(), filepath.Join(b.t.TempDir(), "spool.db"))
	b.must(err)
	b.t.Cleanup(func() { db.Close() })
	b.must(db.Migrate(b.t.Context(), "queue", local.Migrations))
	b.App, err = app.New(b.t.Context(), app.Config{
		UploadURLTTL: time.Hour, MaxUploadBytes: 2000, ResumableURLTTL: time.Hour, MaxResumableBytes: limit, AbandonedAfter: time.Hour, MinFree: 1,
	}, app.Parts{
		Store: db, Queue: local.New(db.Writer(), local.Options{}), Blobs: b.blobs, Admit: media.Admit,
		Log: slog.New(slog.DiscardHandler), Observer: deaf{},
	})
	b.must(err)
	secret, _, err := b.CreateKey(b.t.Context(), app.Key{})
	b.must(err)
	b.by, err = b.Authenticate(b.t.Context(), secret)
	b.must(err)
	mux := http.NewServeMux()
	b.must(tus.Register(mux, watched{b.App, b}, pieces, tus.Config{
		MaxBytes: limit, Stall: stall, Base: func(r *http.Request) (string, error) { return "http://" + r.Host, nil },
	}))
	edge := problem.RequestID(slog.New(slog.DiscardHandler), delivery.Guard(problem.Mux(mux), delivery.Timeouts{}))
	server := httptest.NewServer(edge)
	b.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.url = server.URL
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// upload is one of a client.
type upload struct {
	*bench
	id      video.ID
	address string
	whole   []byte
}

// film begins like a video, and goes on with noise.
func film(size int) []byte {
	whole := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(whole) // which never fails
	copy(whole, "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2")
	return whole
}

// create makes a video whose upload is not begun.
func (b *bench) create(whole []byte) *upload {
	b.t.Helper()
	up, err := b.CreateVideo(b.t.Context(), b.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"144p"}}, b.url)
	b.must(err)
	return &upload{bench: b, id: up.Video.ID, address: up.TusURL, whole: whole}
}

// begin makes a video and begins its upload.
func (b *bench) begin(whole []byte) *upload {
	b.t.Helper()
	u := b.create(whole)
	u.post()
	return u
}

func (u *upload) post() {
	u.t.Helper()
	a := u.send("POST", nil, "Upload-Length", strconv.Itoa(len(u.whole)))
	if a.status != http.StatusCreated || a.Get("Location") != u.address {
		u.t.Fatalf("POST answers %d %v %s; want 201, and the same address as Location", a.status, a.Header, a.body)
	}
}

// reply is an answer that was read to its end.
type reply struct {
	http.Header
	status int
	body   []byte
}

// send sends a request with these headers, names and values in turn.
func (u *upload) send(method string, body io.Reader, headers ...string) reply {
	u.t.Helper()
	a, err := u.trySend(method, body, headers...)
	u.must(err)
	return a
}

// trySend is send where the connection may break.
func (u *upload) trySend(method string, body io.Reader, headers ...string) (reply, error) {
	r, err := http.NewRequestWithContext(u.t.Context(), method, u.address, body)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.Header, res.StatusCode, text}, err
}

// piece are the headers of a PATCH.
func piece(from int) []string {
	return []string{"Content-Type", "application/offset+octet-stream", "Upload-Offset", strconv.Itoa(from)}
}

// patch sends the bytes from up to to, and wants them to arrive.
func (u *upload) patch(from, to int) {
	u.t.Helper()
	a := u.send("PATCH", bytes.NewReader(u.whole[from:to]), piece(from)...)
	if a.status != http.StatusNoContent || a.Get("Upload-Offset") != strconv.Itoa(to) {
		u.t.Fatalf("PATCH of %d to %d answers %d %v %s", from, to, a.status, a.Header, a.body)
	}
}

func (u *upload) wantOffset(want int) {
	u.t.Helper()
	a := u.send("HEAD", nil)
	if a.status != http.StatusOK || a.Get("Upload-Offset") != strconv.Itoa(want) || a.Get("Upload-Length") != strconv.Itoa(len(u.whole)) {
		u.t.Fatalf("HEAD answers %d %v; want the offset %d and the length %d", a.status, a.Header, want, len(u.whole))
	}
}

func (u *upload) wantGone() {
	u.t.Helper()
	if a := u.send("HEAD", nil); a.status != http.StatusNotFound {
		u.t.Errorf("HEAD answers %d %v; want 404", a.status, a.Header)
	}
}

// wantProblem wants a refusal as everywhere else.
func (a reply) wantProblem(t *testing.T, status int, code string) {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != status || p.Code != code || a.Get("Content-Type") != problem.ContentType {
		t.Errorf("the answer is %d %s; want the problem %d %s", a.status, a.body, status, code)
	}
	if strings.Contains(string(a.body), "/tmp") || a.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the answer %v %s shows a path of the server, or not to a page of another origin", a.Header, a.body)
	}
}

// wantWhole completes the upload and wants the bytes that were sent, and nothing
// else, to be stored.
func (u *upload) wantWhole() {
	u.t.Helper()
	u.wantOffset(len(u.whole))
	_, err := u.CompleteUpload(u.t.Context(), u.by, u.id)
	u.must(err)
	keys := u.stored()
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "source/") || u.parts() != 0 {
		u.t.Fatalf("stored are %q and %d objects in parts; want the source alone", keys, u.parts())
	}
	o, err := u.blobs.Open(u.t.Context(), keys[0])
	u.must(err)
	defer o.Close()
	if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, u.whole) {
		u.t.Errorf("%d bytes are stored and differ from the %d that were sent (%v)", len(got), len(u.whole), err)
	}
}

// stored lists the objects of the upload's video.
func (u *upload) stored() []string {
	u.t.Helper()
	var keys []string
	for info, err := range u.blobs.List(u.t.Context(), "") {
		u.must(err)
		if strings.Contains(info.Key, string(u.id)) {
			keys = append(keys, info.Key)
		}
	}
	return keys
}
