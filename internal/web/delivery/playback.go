package delivery

import (
	"net/http"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// maxCache is how long a segment may be cached without revalidation, and anything by shared caches. The content of
// a segment does not change, but caches must notice a deletion eventually.
const maxCache = time.Hour

// purgedCache is maxCache for a CDN that is told of deletions. It bounds how long a deleted file can be
// seen after all if the CDN was not to be reached for days.
const purgedCache = 24 * time.Hour

// manifestCache is maxCache for files that do change, and for redirects to them: playlists and manifests
// should offer a new resolution soon after it is ready.
const manifestCache = 10 * time.Second

// earlyCache is maxCache for files that are made of the parts of a rendition which
// is still being encoded: should that fail, the next attempt may make others.
const earlyCache = time.Minute

// playPublic answers GET and HEAD of /v/{id}/{file}.
func (d *delivery) playPublic(w http.ResponseWriter, r *http.Request) {
	allowPlayers(w.Header())
	id, err := video.ParseID("id", r.PathValue("id"))
	if err != nil {
		problem.Write(w, r, problem.NotFound())
		return
	}
	part, ok := partOf(w, r)
	if !ok {
		return
	}
	d.serveFile(w, r, playback.Access{Video: id, Part: part}, caching{who: "public", validFor: maxCache, purged: d.config.Purged})
}

// playSigned answers GET and HEAD of /v/{token}/{id}/{file}.
func (d *delivery) playSigned(w http.ResponseWriter, r *http.Request) {
	allowPlayers(w.Header())
	token := r.PathValue("token")
	part, ok := partOf(w, r)
	if !ok {
		return
	}
	d.serveFile(w, r, playback.Access{Video: SignedID(r), Token: token, Part: part}, caching{who: "private", validFor: playback.ValidFor(token, d.config.Now())})
}

// partOf returns the part of a video whose playlists a request asks for. It answers a request for one that makes no sense.
func partOf(w http.ResponseWriter, r *http.Request) (part playback.Part, ok bool) {
	if r.URL.RawQuery == "" || !playback.IsPlaylist(r.PathValue("file")) {
		return part, true
	}
	query := r.URL.Query()
	part, faults := playback.ParsePart(query.Get("start"), query.Get("end"))
	if faults != nil {
		problem.Write(w, r, video.InvalidFields(faults...))
		return part, false
	}
	return part, true
}

// isReplaced reports whether a client asks for the rest of a file (If-Range) that is another one now. It has to get all of
// the new one. Not every storage knows If-Range, and one that does not would send the rest of the new one.
func (d *delivery) isReplaced(r *http.Request, a playback.Access, file string) (bool, error) {
	held := r.Header.Get("If-Range")
	if held == "" || r.Header.Get("Range") == "" {
		return false, nil
	}
	object, err := d.player.Open(r.Context(), a, file)
	if err != nil {
		return false, err
	}
	defer object.Close()
	info := object.Info()
	if date, err := http.ParseTime(held); err == nil {
		return date.Unix() != info.Modified.Unix(), nil
	}
	return held != quote(info.ETag), nil
}

// serveFile sends a file or, of a picture, one in a format that the client prefers.
func (d *delivery) serveFile(w http.ResponseWriter, r *http.Request, a playback.Access, c caching) {
	file := r.PathValue("file")
	a, err := d.player.Admit(r.Context(), a, file, d.visitOf(r))
	if a.Restricted {
		w.Header().Add("Vary", "Origin, Referer")
		c.who, c.purged = "private", false
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	d.countWatched(r, a.Video, file)
	if file == video.ThumbnailFile {
		if err := d.serveThumbnail(w, r, a, c); err != nil {
			problem.Write(w, r, err)
		}
		return
	}
	alternate := file
	if accepted := negotiate(w, r, file); accepted != nil {
		alternate = d.player.Picture(r.Context(), a, file, accepted)
	}
	if alternate != file {
		err = d.serveOne(w, r, a, alternate, alternateCaching(c))
	}
	// The alternate may have been deleted since it was chosen, and made again as JPEG.
	if alternate == file || video.KindOf(err) == video.NotFound {
		err = d.serveOne(w, r, a, file, c)
	}
	if err != nil {
		problem.Write(w, r, err)
	}
}

// serveOne sends a file, or sends the client to the storage. It returns an error only if nothing was sent.
func (d *delivery) serveOne(w http.ResponseWriter, r *http.Request, a playback.Access, file string, c caching) error {
	address, err := d.player.Redirect(r.Context(), a, file, wantsDownload(r))
	if err != nil {
		return err
	}
	if address == "" || r.Method != http.MethodGet { // the URL is signed for GET only
		return d.play(w, r, a, file, c)
	}
	replaced, err := d.isReplaced(r, a, file)
	if err != nil {
		return err
	}
	if replaced {
		return d.play(w, r, a, file, c)
	}
	redirect(w, r, address, c.maxAge(manifestCache))
	return nil
}

// redirect sends a client to the storage, which serves the file itself.
func redirect(w http.ResponseWriter, r *http.Request, address, cache string) {
	w.Header().Set("Cache-Control", cache)
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, address, http.StatusFound)
}

// wantsDownload reports whether a browser shall save the file instead of showing it.
func wantsDownload(r *http.Request) bool {
	return r.URL.Query().Get("download") == "1"
}

// play opens a file and sends it. It returns an error only if nothing was sent.
func (d *delivery) play(w http.ResponseWriter, r *http.Request, a playback.Access, file string, c caching) error {
	object, err := d.player.Open(r.Context(), a, file)
	if err != nil {
		return err
	}
	defer object.Close()
	w.Header().Set("Content-Disposition", "inline")
	if wantsDownload(r) {
		disposition, err := d.player.Disposition(r.Context(), a.Video, file)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Disposition", disposition)
	}
	d.tag(w.Header(), a)
	describe(w.Header(), object.Info(), file, c.cacheControl(object, file))
	if !d.config.Sendfile.handOver(w, r, object.Info()) {
		serve(w, r, object)
	}
	return nil
}

// tag sets what CDNs call the name under which a response can be purged.
func (d *delivery) tag(h http.Header, a playback.Access) {
	if d.config.CDN && !a.Restricted {
		h.Set("Cache-Tag", string(a.Video))
		h.Set("Surrogate-Key", string(a.Video))
	}
}

// allowPlayers lets pages of any origin read the response, errors included.
func allowPlayers(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Content-Length, Content-Range, ETag, Accept-Ranges")
}

// caching says who may cache a response, which is never for longer than its URL
// is valid.
type caching struct {
	who      string
	validFor time.Duration
	purged   bool // shared caches are told of deletions
}

// cacheControl is the Cache-Control of an open file.
func (c caching) cacheControl(object playback.Content, file string) string {
	switch {
	case playback.Grows(object):
		return "no-cache"
	case playback.Early(object):
		return c.maxAge(earlyCache)
	case playback.MayChange(file):
		return c.maxAge(manifestCache)
	case !playback.IsVersioned(file):
		return c.revalidated()
	case c.who != "public" || playback.IsPlaylist(file):
		return c.maxAge(maxCache)
	case c.purged:
		return c.maxAge(maxCache) + ", s-maxage=" + strconv.Itoa(int(purgedCache.Seconds())) + ", immutable"
	}
	return c.maxAge(maxCache) + ", immutable"
}

// revalidated has caches ask whether a file is still the same: MP4 files and pictures may be replaced under their
// address. Shared caches may keep them, as they are told, or else for maxCache.
func (c caching) revalidated() string {
	if c.who != "public" {
		return c.who + ", no-cache"
	}
	shared := maxCache
	if c.purged {
		shared = purgedCache
	}
	return "public, max-age=0, s-maxage=" + strconv.Itoa(int(shared.Seconds()))
}

// maxAge allows caching until the URL expires, for longest at the most.
func (c caching) maxAge(longest time.Duration) string {
	age := max(0, min(c.validFor, longest))
	return c.who + ", max-age=" + strconv.Itoa(int(age.Seconds()))
}

// describe sets the headers that a file has, whatever part of it is sent.
func describe(h http.Header, info blob.Info, file, cache string) {
	h.Set("Content-Type", blob.ContentType(file))
	h.Set("Cache-Control", cache)
	h.Set("ETag", quote(info.ETag))
	// A file must never run as a page of this origin, whatever type a browser detects.
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", sandboxOf(file))
}

// sandboxOf returns the policy of a file that is opened in a tab. It has an origin of its own in any
// case. Browsers start to play a video only where scripts are allowed.
func sandboxOf(file string) string {
	if blob.ContentType(file) == "video/mp4" {
		return "sandbox allow-scripts"
	}
	return "sandbox"
}

func quote(etag string) string { return `"` + etag + `"` }
