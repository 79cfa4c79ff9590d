package delivery

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// upload answers PUT /upload/{token}/{id}. The body is read only when the
// service reads it, so a client that sent "Expect: 100-continue" hears a refusal
// before it has sent a byte. Others send on; Guard takes a part of that in.
func (d *delivery) upload(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag")

	etag, err := d.receive(r, &patientReader{from: r.Body, control: http.NewResponseController(w), stall: d.stall})
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	h.Set("ETag", quote(etag))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (d *delivery) receive(r *http.Request, body io.Reader) (etag string, err error) {
	if r.Header.Get("Content-Range") != "" { // a part must not be taken for the whole file
		return "", &video.Error{Kind: video.Invalid, Code: "partial_upload_unsupported", Msg: "Send the whole file in one request, without Content-Range."}
	}
	etag, err = d.service.ReceiveUpload(r.Context(), app.Incoming{
		Token:       r.PathValue("token"),
		Video:       signedID(r),
		ContentType: r.Header.Get("Content-Type"),
		Length:      r.ContentLength,
		Body:        body,
	})
	if errors.Is(err, os.ErrDeadlineExceeded) { // to the service this is a connection that broke
		return "", &video.Error{Kind: video.Invalid, Code: "upload_stalled", Msg: "The upload stood still for too long. Nothing was stored; send it again.", Err: err}
	}
	return etag, err
}

// patientReader reads a body for as long as it takes, provided that every read
// brings something within stall.
type patientReader struct {
	from    io.Reader
	control *http.ResponseController
	stall   time.Duration
}

func (p *patientReader) Read(b []byte) (int, error) {
	// A connection without deadlines is one of a test; it does not stall.
	_ = p.control.SetReadDeadline(time.Now().Add(p.stall))
	return p.from.Read(b)
}
