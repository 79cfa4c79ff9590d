// Package player serves the player: a custom element that the console, the watch page and the embed
// page show.
//
//	<script type="module" src="/player/player.js"></script>
//	<spool-player hls="…/master.m3u8" mp4="…/720p.mp4" poster="…" storyboard="…" video-id="…"></spool-player>
//
// The attributes, all of them optional:
//
//	hls         URL of the HLS playlist, of a video that is playable
//	mp4         URL of an MP4 file, played where HLS cannot be
//	poster      URL of a picture that is shown until it plays
//	storyboard  URL of a WebVTT file whose cues name pictures by #xywh=, for previews
//	chapters    URL of a WebVTT file whose cues are the titles of chapters
//	video-title what screen readers and the lock screen of a phone call it
//	video-id    where it remembers the position, in this browser
//	making      present while the video is still being encoded
//	ready       how many resolutions are finished
//	caption-files  names of the files with captions: a change looks for other captions
//	duration    length of the whole video in seconds, shown while it is being made
//	start       begins here, in seconds, and not where one left
//	captions    language of captions that are shown from the start, such as "en"
//	autoplay, muted, loop
//	silent      hides the control of the volume, of a video without sound
//	show-title  shows video-title above the picture, as long as the controls are there
//	chromecast  offers to play on a Chromecast, and loads Google's program for it; its value is the id of a receiver, or empty
//	nocontrols  shows the picture alone; keys and a click on the picture still work
//	plays       URL to which it reports what is watched (docs/audience.md); without it, nothing is told
//	eager       loads the first seconds before anybody presses play
//	page-keys   keys work wherever the focus is, not only in the player
//
// Instead of these addresses, it may get the address of a read as JSON, or know a video by its id. Then it sets the attributes
// above by itself, waits for a video that is not playable yet, and reads again when addresses have expired:
//
//	src         URL of a read, such as /embed/{id}.json, or of a route that answers with a private read
//	video       id of a video: a public one, or with token a private one
//	token       signed part of its embedUrl
//	server      URL of Spool; absent: the server of the page
//
// Changing hls loads again: at the same position if video-id is still the same (the URLs were renewed),
// else another video, so change video-id first. Removing making, and changing ready, looks for resolutions
// that were added meanwhile, and changing caption-files for other captions; they are taken up without an
// interruption. The property media is the video element; the element fires "spool-error" with a detail of
// {message} when it gives up, and a call of its reload() tries again, with new URLs if they were changed before.
//
// Beside it, <spool-transcript texts="…"> shows what is said: texts is a JSON list of {language, label, url} of WebVTT files.
// It belongs to the first player of the page, or to the one in its property player, and has the colours of the page
// (--text, --soft, --panel, --ground, --line, --accent). The attribute open says that it is unfolded.
//
// It is as large as its box: width 100 % and 16:9 unless the page's style sheet says otherwise. Its
// accent colour is the custom property --spool-accent.
//
// A page with a content security policy needs script-src 'self', connect-src and img-src for the URLs,
// media-src for the URLs, blob: and data: (of captions), and where it has trusted types, trusted-types spool-player. It
// needs no inline styles.
//
// # Why media-chrome
//
// Its elements are the controls and nothing else, accessible and translated, over an ordinary video
// element; hls.js, which nearly everybody uses, does the rest. Both are released often and have permissive
// licences. Vidstack brings a framework of its own, and its authors now work on Video.js 10, which is a
// release candidate (November 2026). Video.js 8 has its own HLS engine, and needs plugins for a quality
// menu and for previews. What media-chrome lacks is support for strict policies: it writes inline styles
// and markup from text. thirdparty/build.mjs changes that.
package player

import (
	"embed"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/web/assets"
)

// embedded holds our own files as they are, and those that others wrote compressed.
//
//go:embed page thirdparty/*.js.gz
var embedded embed.FS

// Entry is the module that defines the element.
const Entry = "player.js"

// Load returns the files of the player.
func Load() (*assets.Files, error) { return assets.Load("player", embedded) }

// Register adds the files to mux, and the module /player/player.js, which leads to them from pages
// that do not know their path.
func Register(mux *http.ServeMux, files *assets.Files) {
	files.Register(mux)
	lead := fmt.Sprintf("export * from %q;\n", "./"+files.Version()+"/"+Entry)
	mux.HandleFunc("GET /player/"+Entry, func(w http.ResponseWriter, r *http.Request) {
		assets.SetHeaders(w.Header(), "text/javascript; charset=utf-8", "no-cache")
		w.Header().Set("ETag", `"`+files.Version()+`"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(lead))
	})
}
