package api

import (
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// Players on pages of other sites read here what they play, without a key: who may open the embed page may read this. It
// says what that page shows, and nothing that the publisher keeps for himself, such as metadata and tags.

const (
	// embedPath and embedSuffix are around the paths of these reads. The same path without the suffix is a page.
	embedPath   = "/embed/"
	embedSuffix = ".json"
	// embedsPerSecond is how many reads an address may make in a second, in the long run. People of one company often
	// share an address, and a player reads again while a video is being made.
	embedsPerSecond = 30
	embedBurst      = 200
)

// embeds are the reads of players.
type embeds struct {
	catalog  *catalog.Catalog
	audience *audience.Service
	config   *Config
	rates    *limit.Rates[netip.Prefix]
}

func newEmbeds(s Services, c *Config) *embeds {
	return &embeds{s.Catalog, s.Audience, c, limit.NewRates[netip.Prefix](embedsPerSecond, embedBurst, time.Now)}
}

// register describes the operations, which handler serves.
func (e *embeds) register(t *table) {
	answer := reflect.TypeFor[embeddedView]()
	one := operation{
		tag: "video", status: 200, errors: []int{404},
		describe: func(op *huma.Operation, _ huma.Registry) { op.Security = []map[string][]string{{}} },
	}
	public, private := one, one
	public.id, public.route, public.parameters = "getEmbedded", "GET "+embedPath+"{id}"+embedSuffix, []*huma.Param{videoID()}
	public.summary = "Get a public video; for players, without a key"
	public.notes = "What the embed page shows, for a player on a page of any site. A video with allowedOrigins answers the pages of those sites only, with 403 origin_not_allowed to others."
	t.describe(&public, nil, answer)
	private.id, private.route = "getEmbeddedPrivate", "GET "+embedPath+"{token}/{id}"+embedSuffix
	private.parameters = []*huma.Param{pathParameter("token", "The signed part of embedUrl: what is between /embed/ and the id.", &huma.Schema{Type: huma.TypeString}), videoID()}
	private.summary = "Get a private video by its signed embedUrl; for players, without a key"
	private.notes = "The same for a private video. The URLs in the answer expire with that embedUrl. Errors: 403 url_expired, url_invalid."
	t.describe(&private, nil, answer)
}

// handler serves the reads.
func (e *embeds) handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{embedPath + "{file}", embedPath + "{token}/{file}"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if err := e.answer(w, r); err != nil {
				problem.Write(w, r, err)
			}
		})
		mux.HandleFunc("OPTIONS "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD")
			w.Header().Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
		})
	}
	inner := problem.Mux(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*") // problems, too, may be read by all sites; allowedOrigins are the matter of the service
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		inner.ServeHTTP(w, r)
	})
}

// answer answers GET /embed/{id}.json and GET /embed/{token}/{id}.json.
func (e *embeds) answer(w http.ResponseWriter, r *http.Request) error {
	if e.config.RateLimit > 0 && !e.rates.Allow(limit.ClientOf(r, e.config.TrustedProxies), 1) {
		return &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: time.Second, Msg: "Too many requests come from your address. Wait a moment."}
	}
	base, err := e.config.base(r)
	if err != nil {
		return err
	}
	id, err := video.ParseID("id", strings.TrimSuffix(r.PathValue("file"), embedSuffix))
	if err != nil {
		return video.VideoNotFound()
	}
	info, err := e.catalog.Embedded(r.Context(), r.PathValue("token"), id, base, playback.Visit{
		Origin: r.Header.Get("Origin"), Referer: r.Header.Get("Referer"), SameOrigin: r.Header.Get("Sec-Fetch-Site") == "same-origin",
		Server: func() (string, error) { return base, nil },
	})
	if err != nil {
		return err
	}
	return e.write(w, r, info, base)
}

// write sends a read. Caches may hold that of a finished public video for a moment, as they hold its page.
func (e *embeds) write(w http.ResponseWriter, r *http.Request, info catalog.PlaybackInfo, base string) error {
	view := viewEmbedded(info)
	if e.audience.Counts() {
		view.PlaysURL = base + playPath + string(info.Video.ID)
	}
	body, err := encode(view)
	if err != nil {
		return err
	}
	h := w.Header()
	if info.Video.Restricted() {
		h.Set("Vary", "Origin, Referer")
	} else if info.Video.IsPublic && info.Settled {
		h.Set("Cache-Control", "public, max-age=30")
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails if the client has disconnected
	}
	return nil
}

// embeddedView is a video as everybody may see it who may play it. What is added to other reads is not added here by itself.
type embeddedView struct {
	ID          video.ID                       `json:"id" format:"uuid"`
	Title       string                         `json:"title" maxLength:"200"`
	Status      video.Status                   `json:"status" enum:"pending_upload,processing,ready,fail"`
	IsPublic    bool                           `json:"isPublic"`
	Resolutions byName[embeddedResolutionView] `json:"resolutions"`
	VideoURLs
	VideoFiles
	VideoAudio
	VideoCaptions
	VideoChapters
	DurationSeconds float64  `json:"durationSeconds,omitempty" doc:"Known once the file has been inspected."`
	Progress        float64  `json:"progress" minimum:"0" maximum:"1"`
	Playable        bool     `json:"playable" doc:"hlsUrl and dashUrl play from the beginning now. A long video is playable long before it is ready."`
	Failure         *failure `json:"failure,omitempty" doc:"Why status is fail."`
	PlaysURL        string   `json:"playsUrl,omitempty" format:"uri" doc:"Where a player tells what is watched; see reportPlay. Absent where nothing is counted."`
}

type embeddedResolutionView struct {
	ID                 video.ResolutionID `json:"id" format:"uuid"`
	Status             video.Status       `json:"status" enum:"pending_upload,processing,ready,fail"`
	VideoURL           string             `json:"videoUrl" format:"uri" doc:"Answers 404 not_ready until status is ready."`
	ThumbnailImageURLs []string           `json:"thumbnailImageUrls" nullable:"false" format:"uri" doc:"One for each timestamp, in the order given."`
	Width              int                `json:"width,omitempty" doc:"In pixels; known once the file has been inspected."`
	Height             int                `json:"height,omitempty" doc:"In pixels; known once the file has been inspected."`
}

func viewEmbedded(p catalog.PlaybackInfo) embeddedView {
	whole := viewPlayback(p)
	out := embeddedView{
		ID: whole.ID, Title: whole.Title, Status: whole.Status, IsPublic: whole.IsPublic,
		VideoURLs: whole.VideoURLs, VideoFiles: whole.VideoFiles, VideoAudio: whole.VideoAudio, VideoCaptions: whole.VideoCaptions, VideoChapters: whole.VideoChapters,
		DurationSeconds: whole.DurationSeconds, Progress: whole.Progress, Playable: whole.Playable, Failure: whole.Failure,
	}
	for _, r := range whole.Resolutions {
		v := r.value
		out.Resolutions = append(out.Resolutions, named[embeddedResolutionView]{r.name, embeddedResolutionView{
			ID: v.ID, Status: v.Status, VideoURL: v.VideoURL, ThumbnailImageURLs: v.ThumbnailImageURLs, Width: v.Width, Height: v.Height,
		}})
	}
	return out
}
