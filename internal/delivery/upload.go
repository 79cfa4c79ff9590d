package delivery

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spool-video/spool/internal/app"
	"github.com/spool-video/spool/internal/problem"
	"github.com/spool-video/spool/internal/video"
)

// farewell is how long the rest of a refused upload is waited for.
const farewell = 2 * time.Second

// upload answers PUT /upload/{token}/{id}. The body is read only when the
// service reads it, so an upload that is refused by its address or its headers
// costs neither side the bytes: a client that sent "Expect: 100-continue" has
// not even begun.
func (d *delivery) upload(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag")
	body := &patientReader{from: r.Body, control: http.NewResponseController(w), stall: d.stall, finished: r.ContentLength == 0}

	etag, err := d.receive(r, body)
	if err != nil {
		if !body.finished {
			hangUp(w, r, body.control)
		}
		problem.Write(w, r, err)
		return
	}
	h.Set("ETag", quote(etag))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (d *delivery) receive(r *http.Request, body *patientReader) (etag string, err error) {
	id, err := video.ParseID("id", r.PathValue("id"))
	if err != nil {
		return "", invalidAddress()
	}
	etag, err = d.service.ReceiveUpload(r.Context(), app.Incoming{
		Token:       r.PathValue("token"),
		Video:       id,
		ContentType: r.Header.Get("Content-Type"),
		Length:      r.ContentLength,
		Body:        body,
	})
	if err != nil && body.fault != nil && (errors.Is(err, body.fault) || video.KindOf(err) == video.Internal) {
		return "", brokenUpload(body.fault) // the client's doing, not a fault of the server
	}
	return etag, err
}

// brokenUpload explains to a client, if it still listens, what became of its
// upload.
func brokenUpload(fault error) error {
	if errors.Is(fault, os.ErrDeadlineExceeded) {
		return &video.Error{Kind: video.Invalid, Code: "upload_stalled", Msg: "The upload stood still for too long. Nothing was stored; send it again.", Err: fault}
	}
	return &video.Error{Kind: video.Invalid, Code: "upload_interrupted", Msg: "The upload broke off before its end. Nothing was stored; send it again.", Err: fault}
}

// hangUp makes the server answer at once and close the connection, where it
// would otherwise read a part of the body first to save the connection.
func hangUp(w http.ResponseWriter, r *http.Request, control *http.ResponseController) {
	if r.ProtoMajor == 1 { // HTTP/2 ends the one stream instead
		w.Header().Set("Connection", "close")
	}
	_ = control.SetReadDeadline(time.Now().Add(farewell))
}

// patientReader reads a body for as long as it takes, provided that every read
// brings something within stall.
type patientReader struct {
	from     io.Reader
	control  *http.ResponseController
	stall    time.Duration
	finished bool  // the body was read to its end
	fault    error // why it could not be
}

func (p *patientReader) Read(b []byte) (int, error) {
	// A connection without deadlines is one of a test; it does not stall.
	_ = p.control.SetReadDeadline(time.Now().Add(p.stall))
	n, err := p.from.Read(b)
	if err == nil {
		return n, nil
	}
	if err == io.EOF {
		p.finished = true
	} else {
		p.fault = err
	}
	// Were the deadline to pass while the file is being put in its place, the
	// server would take the client for gone.
	_ = p.control.SetReadDeadline(time.Time{})
	return n, err
}
