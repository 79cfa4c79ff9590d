// Package tus receives resumable uploads with the protocol tus 1.0
// (https://tus.io). A video has one upload, at one signed URL: POST starts it, HEAD
// returns its offset, PATCH continues it, DELETE discards it.
//
// tusd implements the protocol. This package adds what surrounds it:
//
//   - All state is in the storage, so any process can continue an upload, and
//     removing the objects of a video removes its upload. On disk, an upload is a
//     file beside the object that it becomes; in a bucket, it is a multipart upload.
//     An object with the suffix ".info" describes it; one with ".part" holds the
//     file, or in a bucket the last bytes that do not fill a part yet.
//   - The offset is exact. tusd adds up the parts that a bucket has, so a gap
//     between parts would count as received bytes; see serialUploader.
//   - Complete means in place. tusd calls an upload complete when it has all bytes.
//     Here HEAD says so only when the file is where complete-upload expects it, and
//     puts it there if a crash or a storage error prevented that; see upload.GetInfo.
//   - One file per URL. Clients that are given one URL for several files would lose all but
//     the last, so a POST with another length is refused, unless it says that it replaces.
//   - One request at a time per upload. Each holds an upload lease, across
//     processes. The later request wins, because the connection of the earlier one
//     may be dead: the earlier stores what it has and ends.
//   - Nothing remains of closed uploads. Every request that wrote checks afterwards
//     whether the video still waits for its file. If it was deleted or completed
//     meanwhile, what was written is removed at once.
//   - Errors are problems, as everywhere else.
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

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/problem"
)

// Services are the parts of the service that tus calls.
type Services struct {
	Uploads *uploads.Service
	Leases  *uploads.Leases
	Space   *diskspace.Reserve
}

// Config holds the settings.
type Config struct {
	// MaxBytes is the size of the largest file.
	MaxBytes int64
	// Base returns the base of the URLs in the response to a request.
	Base func(*http.Request) (string, error)
	// IdleTimeout is how long an upload may make no progress; default 60 s.
	IdleTimeout time.Duration
}

const (
	path       = "/upload/tus/{token}/{id}"
	version    = "1.0.0"
	extensions = "creation,creation-with-upload,creation-defer-length,termination,expiration"

	// headerReplace is our own: a creation that means to replace an upload of another length says so.
	headerReplace = "Upload-Replace"

	// storeTimeout is how long storing the bytes of a broken connection may take.
	storeTimeout = time.Minute
)

type server struct {
	services Services
	storage  Storage
	config   Config
	tusd     *handler.UnroutedHandler
	next     http.Handler
}

// Register adds the routes of resumable uploads to mux. The whole server must be
// wrapped in delivery.Guard.
func Register(mux *http.ServeMux, services Services, storage Storage, config Config) error {
	if config.IdleTimeout <= 0 {
		config.IdleTimeout = time.Minute
	}
	s := &server{services: services, storage: storage, config: config}
	store := &uploadStore{services: services, storage: storage}
	tusd, err := handler.NewUnroutedHandler(handler.Config{
		// No locker is needed: every request, also POST, holds the upload lease.
		StoreComposer: &handler.StoreComposer{
			Core:           store,
			UsesTerminater: true, Terminater: store,
			UsesLengthDeferrer: true, LengthDeferrer: store,
		},
		MaxSize:                          config.MaxBytes,
		BasePath:                         "/",
		Cors:                             &handler.CorsConfig{Disable: true},
		Logger:                           slog.New(slog.NewTextHandler(io.Discard, nil)), // it would log every request, with its signature
		GracefulRequestCompletionTimeout: storeTimeout,
		NetworkTimeout:                   config.IdleTimeout,
	})
	if err != nil {
		return fmt.Errorf("prepare resumable uploads: %w", err)
	}
	s.tusd, s.next = tusd, tusd.Middleware(http.HandlerFunc(s.route))
	for _, method := range []string{"POST", "HEAD", "PATCH", "DELETE"} {
		mux.HandleFunc(method+" "+path, s.serve)
	}
	mux.HandleFunc("OPTIONS "+path, s.options)
	return nil
}

// options answers CORS preflight requests and tus clients that ask for the
// supported extensions. Every origin is allowed: knowing the URL is what grants
// access.
func (s *server) options(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	allowOrigins(h)
	h.Set("Access-Control-Allow-Methods", "POST, HEAD, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Defer-Length, "+
		"Upload-Metadata, "+headerReplace+", X-HTTP-Method-Override, X-Request-Id, X-Requested-With")
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

// serve answers a request to an upload. Forged URLs are rejected before the lease
// is acquired: they must not interrupt the request that is writing.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	allowOrigins(w.Header())
	token, id := r.PathValue("token"), delivery.SignedID(r)
	resumable, err := s.services.Uploads.OpenResumable(r.Context(), token, id)
	if err == nil {
		err = checkHeaders(r, resumable)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	if r.Method != http.MethodHead {
		leave, err := resumable.Enter()
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		defer leave()
	}
	in := delivery.NewBody(w, r, s.config.IdleTimeout)
	lease, err := s.services.Leases.Acquire(r.Context(), id, in.Stop)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	defer lease.Release() // after a stop, what has arrived is stored, and the client resumes from there
	// While this request waited for the lease, another one may have completed or
	// deleted the video.
	if resumable, err = s.services.Uploads.OpenResumable(r.Context(), token, id); err != nil {
		problem.Write(w, r, err)
		return
	}
	replaces, _ := strconv.ParseBool(r.Header.Get(headerReplace)) // anything else is no
	s.handle(w, r, in, &request{resumable: resumable, lease: lease, length: r.ContentLength, replaces: replaces})
}

// checkHeaders rejects what tusd would misunderstand: it would store a part of a
// concatenation as the whole file, and call a file that is too large a malformed
// request.
func checkHeaders(r *http.Request, resumable uploads.Resumable) error {
	if r.Header.Get("Upload-Concat") != "" {
		return &video.Error{Kind: video.Invalid, Code: "concatenation_unsupported",
			Msg: "Parallel uploads of one file are not supported. Send the file in one upload, part by part."}
	}
	length, err := strconv.ParseInt(r.Header.Get("Upload-Length"), 10, 64)
	if err != nil {
		return nil // it is missing, or tusd refuses it
	}
	return resumable.CheckSize(length)
}

// handle passes a request to tusd and writes the response if it failed.
func (s *server) handle(w http.ResponseWriter, r *http.Request, in *delivery.Body, q *request) {
	base, err := s.config.Base(r)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	out := &response{ResponseWriter: w, location: base + r.URL.EscapedPath(), expires: q.resumable.Expires}
	q.values = context.WithValue(r.Context(), requestKey{}, q)
	inner := r.Clone(q.values)
	inner.URL.Path, inner.Body = "/"+string(q.resumable.Video), in
	inner.Header.Del("Upload-Metadata") // the video has its own
	s.next.ServeHTTP(out, inner)
	if out.rejected != 0 {
		problem.Write(w, r, out.problem(q.err))
	}
}

// route is called by tusd, which takes the method from
// X-HTTP-Method-Override, for clients that cannot send PATCH.
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
		_, _ = io.WriteString(w, "ERR_METHOD: X-HTTP-Method-Override names a method that it does not have") // response keeps it
	}
}
