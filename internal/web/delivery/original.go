package delivery

import (
	"net/http"

	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/web/problem"
)

// playOriginal answers GET and HEAD of /v/{token}/{id}/original with the file that was uploaded. Browsers save it: it
// may be anything that looks like a video.
func (d *delivery) playOriginal(w http.ResponseWriter, r *http.Request) {
	allowPlayers(w.Header())
	if err := d.sendOriginal(w, r); err != nil {
		problem.Write(w, r, err)
	}
}

// sendOriginal returns an error only if nothing was sent. Answers are not cached: the file may be large, and is seldom
// asked for twice.
func (d *delivery) sendOriginal(w http.ResponseWriter, r *http.Request) error {
	f, err := d.player.FindOriginal(r.Context(), playback.Access{Video: SignedID(r), Token: r.PathValue("token")})
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet { // the URL of the storage is signed for GET only
		address, err := d.player.RedirectOriginal(r.Context(), f)
		if err != nil {
			return err
		}
		if address != "" {
			redirect(w, r, address, "no-store")
			return nil
		}
	}
	object, err := d.player.OpenOriginal(r.Context(), f)
	if err != nil {
		return err
	}
	defer object.Close()
	describe(w.Header(), object.Info(), playback.OriginalPath, "private, no-store")
	w.Header().Set("Content-Type", f.ContentType)
	w.Header().Set("Content-Disposition", f.Disposition)
	if !d.config.Sendfile.handOver(w, r, object.Info()) {
		serve(w, r, object)
	}
	return nil
}
