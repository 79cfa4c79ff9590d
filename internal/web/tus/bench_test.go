package tus_test

import (
	"bytes"
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
	"github.com/tus/tusd/v2/pkg/s3store"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/problem"
	"github.com/spool-video/spool/internal/web/tus"
)

const (
	mib         = 1 << 20
	limit       = 40 * mib
	idleTimeout = 30 * time.Second
)

// bench is a server for resumable uploads with a real service and storage.
type bench struct {
	*servicetest.Services
	t       *testing.T
	blobs   blob.Store
	by      auth.Actor
	url     string
	faults  *faults       // of the bucket
	parts   func() int    // unfinished multipart uploads of the bucket
	left    func() uint64 // free disk space; nil: the real one
	scratch string        // where parts for the bucket are kept
	timing  imports.Timing
	now     func() time.Time // nil: the clock of the database
	dir     string           // of the objects, on a disk

	lost    atomic.Bool // requests lose their lease
	storage tus.Storage
	tries   tries
	address string // of PostgreSQL; "": SQLite
	db      *store.Store
	queue   queue.Queue
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

func onDisk(t *testing.T) *bench { return onDiskAt(t, quick) }

func onDiskAt(t *testing.T, timing imports.Timing) *bench {
	return onDiskWith(t, &bench{timing: timing})
}

func onDiskWith(t *testing.T, b *bench) *bench {
	t.Helper()
	b.dir = filepath.Join(t.TempDir(), "objects")
	files, err := disk.Open(b.dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	storage, err := tus.Disk(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	b.t, b.parts = t, func() int { return 0 }
	b.blobs = limited{files, b}
	b.serve(storage)
	return b
}

// limited is a disk with as much free space as a test wants.
type limited struct {
	*disk.Store
	bench *bench
}

func (l limited) Capabilities() blob.Capabilities {
	can := l.Store.Capabilities()
	can.Free = func() (uint64, error) {
		if l.bench.left != nil {
			return l.bench.left(), nil
		}
		return l.Store.Capabilities().Free()
	}
	return can
}

func onBucket(t *testing.T) *bench {
	t.Helper()
	server := s3test.Start(t)
	name := server.Bucket(t)
	files, err := s3.Open(t.Context(), server.URL(name, "videos"), s3.Options{Credentials: server.Credentials(), PartSize: 5 * mib, MaxBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	at := files.Access()
	b := &bench{t: t, blobs: files, timing: quick, faults: &faults{S3API: at.Client, bucket: name}}
	at.Client = b.faults
	b.scratch = filepath.Join(t.TempDir(), "incoming")
	storage, err := tus.Bucket(tus.BucketConfig{
		Client: func(valid func() bool) s3store.S3API {
			return at.TusClient(func() bool { return valid() && !b.lost.Load() })
		}, Open: func(ctx context.Context, key string) (io.ReadCloser, error) { return files.Open(ctx, key) }, Bucket: at.Bucket, Prefix: at.Prefix, PartSize: at.PartSize, MaxParts: at.MaxParts,
		MaxBytes: limit, Scratch: b.scratch,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.parts = func() int {
		out, err := b.faults.client().ListMultipartUploads(context.WithoutCancel(t.Context()), &sdk.ListMultipartUploadsInput{Bucket: &name})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Uploads)
	}
	b.serve(storage)
	return b
}

// serve starts the server.
func (b *bench) serve(storage tus.Storage) {
	b.t.Helper()
	b.storage = storage
	b.open()
	b.wire()
	secret, _, err := b.Keys.Create(b.t.Context(), auth.Key{})
	b.must(err)
	b.by, err = b.Keys.Authenticate(b.t.Context(), secret)
	b.must(err)
	mux := http.NewServeMux()
	b.must(tus.Register(mux, b.uploadServices(), storage, tus.Config{
		MaxBytes: limit, IdleTimeout: idleTimeout, Base: func(r *http.Request) (string, error) { return "http://" + r.Host, nil },
	}))
	edge := problem.RequestID(slog.New(slog.DiscardHandler), delivery.Guard(problem.Mux(mux), delivery.Timeouts{}))
	server := httptest.NewServer(edge)
	b.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.url = server.URL
}

// open opens the database.
func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.address != "" {
		b.db, err = store.OpenPostgres(b.t.Context(), b.address)
	} else {
		b.db, err = store.OpenSQLite(b.t.Context(), servicetest.Database.Fresh(b.t))
	}
	b.must(err)
	db := b.db
	b.t.Cleanup(func() { db.Close() })
}

// wire builds the queue and the services as a process does when it starts.
func (b *bench) wire() {
	b.t.Helper()
	var err error
	if b.queue = local.New(b.db.Writer(), local.Options{}); b.address != "" {
		b.queue, err = river.Open(b.t.Context(), b.db, river.Options{})
		b.must(err)
	}
	b.Services, err = servicetest.Wire(b.t.Context(), servicetest.Config{
		Uploads:        uploads.Config{URLTTL: time.Hour, MaxBytes: 2000, ResumableURLTTL: time.Hour, MaxResumableBytes: limit},
		AbandonedAfter: time.Hour, MinFree: 1,
		MaxImports: slots, OutboundAllow: []string{originAddress}, ImportTiming: b.timing,
	}, servicetest.Parts{Store: b.db, Queue: b.queue, Blobs: b.blobs, ImportStarted: b.tries.start, ImportEnded: b.tries.end, Now: b.now})
	b.must(err)
}

// uploadServices are what uploads need.
func (b *bench) uploadServices() tus.Services {
	return tus.Services{Uploads: b.Uploads, Leases: b.Leases, Space: b.Reserve}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// upload is one upload of a client.
type upload struct {
	*bench
	id      video.ID
	address string
	whole   []byte
}

// content returns noise with the signature of a video.
func content(size int) []byte {
	whole := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(whole) // never fails
	copy(whole, "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2")
	return whole
}

// create creates a video without starting its upload.
func (b *bench) create(whole []byte) *upload {
	b.t.Helper()
	up, err := b.Catalog.Create(b.t.Context(), b.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"144p"}}, b.url)
	b.must(err)
	return &upload{bench: b, id: up.Video.ID, address: up.TusURL, whole: whole}
}

// begin creates a video and starts its upload.
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

// reply is a response that was read to its end.
type reply struct {
	http.Header
	status int
	body   []byte
}

// send sends a request. Headers are alternating names and values.
func (u *upload) send(method string, body io.Reader, headers ...string) reply {
	u.t.Helper()
	a, err := u.trySend(method, body, headers...)
	u.must(err)
	return a
}

// trySend is send for requests whose connection may break.
func (u *upload) trySend(method string, body io.Reader, headers ...string) (reply, error) {
	r, err := http.NewRequestWithContext(u.t.Context(), method, u.address, body)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := patient.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.Header, res.StatusCode, text}, err
}

// patient is a client that sends no body before the server wants it, where a request says so.
var patient = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}

// patchHeaders returns the headers of a PATCH at an offset.
func patchHeaders(from int) []string {
	return []string{"Content-Type", "application/offset+octet-stream", "Upload-Offset", strconv.Itoa(from)}
}

// patch sends the bytes in [from, to) and wants them to be stored.
func (u *upload) patch(from, to int) {
	u.t.Helper()
	a := u.send("PATCH", bytes.NewReader(u.whole[from:to]), patchHeaders(from)...)
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

// wantProblem wants a problem+json response.
func (a reply) wantProblem(t *testing.T, status int, code string) {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != status || p.Code != code || a.Get("Content-Type") != problem.ContentType {
		t.Errorf("the answer is %d %s; want the problem %d %s", a.status, a.body, status, code)
	}
	if strings.Contains(string(a.body), "/tmp") || a.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the answer %v %s shows a path of the server, or cannot be read by a page of another origin", a.Header, a.body)
	}
}

// wantWhole completes the upload and wants exactly the bytes that were sent to be
// stored.
func (u *upload) wantWhole() {
	u.t.Helper()
	u.wantOffset(len(u.whole))
	_, err := u.Uploads.Complete(u.t.Context(), u.by, u.id)
	u.must(err)
	keys := u.stored()
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "source/") || u.parts() != 0 {
		u.t.Fatalf("stored are %q and %d multipart uploads; want the source alone", keys, u.parts())
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
