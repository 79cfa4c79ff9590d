package delivery

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// maxCache is how long a copy may be kept without asking again. Public
// addresses never change what they show, but a deletion has to reach the caches
// in the end.
const maxCache = time.Hour

// listCache is maxCache for what does change: soon after a resolution is ready,
// whoever begins to watch should be offered it.
const listCache = 10 * time.Second

// playPublic answers GET and HEAD of /v/{id}/{file}.
func (d *delivery) playPublic(w http.ResponseWriter, r *http.Request) {
	allowPlayers(w.Header())
	id, err := video.ParseID("id", r.PathValue("id"))
	if err != nil {
		problem.Write(w, r, problem.NotFound())
		return
	}
	file, cache := r.PathValue("file"), cacheControl("public", r.PathValue("file"), maxCache)
	address, err := d.service.PublicAddress(r.Context(), id, file)
	if err == nil && !redirected(w, r, address, cache) {
		err = play(w, r, cache, func() (app.Content, error) { return d.service.OpenPublic(r.Context(), id, file) })
	}
	if err != nil {
		problem.Write(w, r, err)
	}
}

// playSigned answers GET and HEAD of /v/{token}/{id}/{file}.
func (d *delivery) playSigned(w http.ResponseWriter, r *http.Request) {
	allowPlayers(w.Header())
	token, file := r.PathValue("token"), r.PathValue("file")
	cache := cacheControl("private", file, sign.Expiry(token).Sub(d.now()))
	address, err := d.service.SignedAddress(r.Context(), token, signedID(r), file)
	if err == nil && !redirected(w, r, address, cache) {
		err = play(w, r, cache, func() (app.Content, error) { return d.service.OpenSigned(r.Context(), token, signedID(r), file) })
	}
	if err != nil {
		problem.Write(w, r, err)
	}
}

// redirected sends a GET to the storage, if that serves the file itself. The
// address is good for GET alone, so HEAD is answered here.
func redirected(w http.ResponseWriter, r *http.Request, address, cache string) bool {
	if address == "" || r.Method != http.MethodGet {
		return false
	}
	w.Header().Set("Cache-Control", cache)
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, address, http.StatusFound)
	return true
}

// play opens a file and sends it. The error says why it could not be opened.
func play(w http.ResponseWriter, r *http.Request, cache string, open func() (app.Content, error)) error {
	object, err := open()
	if err != nil {
		return err
	}
	defer object.Close()
	serve(w, r, object, r.PathValue("file"), cache)
	return nil
}

// allowPlayers lets pages of any origin read the answer, refusals included.
func allowPlayers(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Content-Length, Content-Range, ETag, Accept-Ranges")
}

// cacheControl says who may keep a file, for no longer than its address lives.
func cacheControl(who, file string, life time.Duration) string {
	longest := maxCache
	if app.Changes(file) {
		longest = listCache
	}
	life = max(0, min(life, longest))
	return fmt.Sprintf("%s, max-age=%d", who, int(life.Seconds()))
}

// serve sends an object, or the part of it that was asked for.
func serve(w http.ResponseWriter, r *http.Request, object app.Content, file, cache string) {
	info, h := object.Info(), w.Header()
	h.Set("Content-Type", blob.ContentType(file))
	h.Set("Content-Disposition", "inline")
	h.Set("Cache-Control", cache)
	h.Set("ETag", quote(info.ETag))
	// A file must never run as a page of this origin, whatever a browser takes it for.
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")

	r, wanted := withRange(r, info.Size)
	guard := &rangeGuard{ResponseWriter: w}
	http.ServeContent(guard, r, "", info.Modified, object)
	switch guard.refused {
	case http.StatusRequestedRangeNotSatisfiable:
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", info.Size))
		problem.Write(w, r, wanted.refusal(info.Size))
	case http.StatusPreconditionFailed:
		problem.Write(w, r, &video.Error{Kind: video.PreconditionFailed, Code: "precondition_failed", Msg: "The file is not the one that the request's conditions name."})
	}
}

func quote(etag string) string { return `"` + etag + `"` }
