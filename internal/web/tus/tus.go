// Package tus takes uploads in pieces that can be resumed, by the protocol tus
// 1.0 (https://tus.io). The protocol itself is tusd's; this package owns what
// surrounds it: who may, one request at a time for each upload, answers to
// failures like everywhere else, and that a file counts as uploaded only when it
// lies where complete-upload looks for it.
//
// A video has one upload, at one signed address: POST begins it, HEAD tells how
// far it is, PATCH goes on, DELETE drops it.
package tus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"
	"golang.org/x/exp/slog" // tusd is older than log/slog

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// Service is what tus asks of package app.
type Service interface {
	OpenResumable(ctx context.Context, token string, id video.ID) (app.Resumable, error)
	HoldUpload(ctx context.Context, id video.ID, stop func()) (app.Hold, error)
	BeginResumable(ctx context.Context, r app.Resumable, length int64) error
	ContinueResumable(ctx context.Context, r app.Resumable) error
	RoomForPiece(length int64) error
	RoomBeside(need int64, free uint64) error
	WhileRoom(src io.Reader) io.Reader
	ArrivedBytes(ctx context.Context, id video.ID) (int64, error)
	InTime(ctx context.Context, id video.ID) error
	FinishResumable(ctx context.Context, id video.ID, file string) error
	DiscardUpload(ctx context.Context, id video.ID) error
}

// Config is what can be set.
type Config struct {
	// MaxBytes is the size of the largest file.
	MaxBytes int64
	// Base returns what addresses in the answer to a request start with.
	Base func(*http.Request) (string, error)
	// Stall is how long an upload may go without a single byte; default 60 s.
	Stall time.Duration
}

const (
	path       = "/upload/tus/{token}/{id}"
	version    = "1.0.0"
	extensions = "creation,creation-with-upload,creation-defer-length,termination,expiration"

	// grace is how long the bytes of a connection that broke may take to be stored.
	grace = time.Minute
)

type server struct {
	service Service
	storage Storage
	config  Config
	tusd    *handler.UnroutedHandler
	next    http.Handler
}

// Register adds the addresses of uploads in pieces to mux. It relies on
// delivery.Guard around the whole server.
func Register(mux *http.ServeMux, service Service, storage Storage, config Config) error {
	if config.Stall <= 0 {
		config.Stall = time.Minute
	}
	s := &server{service: service, storage: storage, config: config}
	store := &core{service: service, storage: storage}
	tusd, err := handler.NewUnroutedHandler(handler.Config{
		// There is no locker: every request holds its upload already, POST as well.
		StoreComposer: &handler.StoreComposer{
			Core:           store,
			UsesTerminater: true, Terminater: store,
			UsesLengthDeferrer: true, LengthDeferrer: store,
		},
		MaxSize:                          config.MaxBytes,
		BasePath:                         "/",
		Cors:                             &handler.CorsConfig{Disable: true},
		Logger:                           slog.New(slog.NewTextHandler(io.Discard, nil)), // it would log every request, with its signature
		GracefulRequestCompletionTimeout: grace,
		NetworkTimeout:                   config.Stall,
	})
	if err != nil {
		return fmt.Errorf("prepare resumable uploads: %w", err)
	}
	s.tusd, s.next = tusd, tusd.Middleware(http.HandlerFunc(s.route))
	for _, method := range []string{"POST", "HEAD", "PATCH", "DELETE"} {
		mux.HandleFunc(method+" "+path, s.serve)
	}
	mux.HandleFunc("OPTIONS "+path, s.describe)
	return nil
}

// describe answers browsers that ask whether a page of another origin may use an
// address, and clients that ask what is on offer. Any may: the address itself is
// what gives the right.
func (s *server) describe(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	allowOrigins(h)
	h.Set("Access-Control-Allow-Methods", "POST, HEAD, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Defer-Length, "+
		"Upload-Metadata, X-HTTP-Method-Override, X-Request-Id, X-Requested-With")
	h.Set("Access-Control-Max-Age", "86400")
	h.Set("Tus-Extension", extensions)
	h.Set("Tus-Max-Size", strconv.FormatInt(s.config.MaxBytes, 10))
	w.WriteHeader(http.StatusNoContent)
}

func allowOrigins(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Location, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, "+
		"Upload-Offset, Upload-Length, Upload-Defer-Length, Upload-Expires, Retry-After, X-Request-Id")
	h.Set("Tus-Resumable", version)
	h.Set("Tus-Version", version)
}

// serve answers a request to an upload. Forged addresses are refused before the
// upload is held: they must not disturb whoever is writing to it.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	allowOrigins(w.Header())
	token, id := r.PathValue("token"), signedID(r)
	right, err := s.service.OpenResumable(r.Context(), token, id)
	if err == nil {
		err = checkHeaders(r, right)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	in := newBody(w, r, s.config.Stall)
	hold, err := s.service.HoldUpload(r.Context(), id, in.stop)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	defer hold.Release()
	// While it waited, another request may have completed or deleted the video.
	if right, err = s.service.OpenResumable(r.Context(), token, id); err != nil {
		problem.Write(w, r, err)
		return
	}
	s.exchange(w, r, in, &exchange{right: right, hold: hold, length: r.ContentLength})
}

// signedID returns the video's id in a signed address. What is no id goes on as
// it is: nothing was ever signed for it, so the service refuses the address.
func signedID(r *http.Request) video.ID {
	raw := r.PathValue("id")
	if id, err := video.ParseID("id", raw); err == nil {
		return id
	}
	return video.ID(raw)
}

// checkHeaders refuses what tusd would take for something else: a piece of a
// concatenation for the whole file, and a file that is too large for a mistake.
func checkHeaders(r *http.Request, right app.Resumable) error {
	if r.Header.Get("Upload-Concat") != "" {
		return &video.Error{Kind: video.Invalid, Code: "concatenation_unsupported",
			Msg: "Uploads cannot be put together from parallel ones: send the file in one upload, piece by piece."}
	}
	length, err := strconv.ParseInt(r.Header.Get("Upload-Length"), 10, 64)
	if err == nil && length > right.Limit {
		return &video.Error{Kind: video.TooLarge, Code: "file_too_large",
			Msg: fmt.Sprintf("The file has %d bytes; at most %d are accepted.", length, right.Limit)}
	}
	return nil
}

// exchange hands a request to tusd, and answers for it where it failed.
func (s *server) exchange(w http.ResponseWriter, r *http.Request, in *body, x *exchange) {
	base, err := s.config.Base(r)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	out := &answer{ResponseWriter: w, location: base + r.URL.EscapedPath(), expires: x.right.Expires}
	inner := r.Clone(context.WithValue(r.Context(), exchangeKey{}, x))
	inner.URL.Path, inner.Body = "/"+string(x.right.Video), in
	inner.Header.Del("Upload-Metadata") // the video has its own
	s.next.ServeHTTP(out, inner)
	if out.refused != 0 {
		problem.Write(w, r, out.problem(x))
	}
}

// route is called by tusd, which lets clients that cannot send a PATCH say so in
// a header.
func (s *server) route(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case "POST":
		s.tusd.PostFile(w, r)
	case "HEAD":
		s.tusd.HeadFile(w, r)
	case "PATCH":
		s.tusd.PatchFile(w, r)
	case "DELETE":
		s.tusd.DelFile(w, r)
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "ERR_METHOD: X-HTTP-Method-Override names a method that it does not have") // kept for the answer
	}
}
