package delivery

import (
	"errors"
	"net/http"
	"os"

	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// upload answers PUT /upload/{token}/{id}. The body is not read before the service
// reads it, so a client that sent "Expect: 100-continue" is refused before it has
// sent a byte. Other clients keep sending; Guard drains what they send.
func (d *delivery) upload(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag")

	etag, err := d.receive(r, NewBody(w, r, d.config.IdleTimeout))
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	h.Set("ETag", quote(etag))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (d *delivery) receive(r *http.Request, body *Body) (etag string, err error) {
	if r.Header.Get("Content-Range") != "" { // a part must not be stored as the whole file
		return "", &video.Error{Kind: video.Invalid, Code: "partial_upload_unsupported", Msg: "Send the whole file in one request, without Content-Range."}
	}
	etag, err = d.uploads.Receive(r.Context(), uploads.Incoming{
		Token:       r.PathValue("token"),
		Video:       SignedID(r),
		ContentType: r.Header.Get("Content-Type"),
		Length:      r.ContentLength,
		Body:        body,
		Stop:        body.Stop,
	})
	if errors.Is(err, os.ErrDeadlineExceeded) { // the service reports it as a broken connection
		return "", &video.Error{Kind: video.Invalid, Code: "upload_stalled", Msg: "The upload made no progress for too long. Nothing was stored; send it again.", Err: err}
	}
	return etag, err
}
