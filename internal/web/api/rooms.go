package api

import (
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/service/sound"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/service/visibility"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// This file is where the API learns of a feature: its service, its operations and its part of a read. The rest is in
// the feature's own file.

// Services are what the API calls.
type Services struct {
	Keys       *auth.Keys
	Catalog    *catalog.Catalog
	Uploads    *uploads.Service
	Deleter    *janitor.Deleter
	Tenants    *tenants.Service
	Webhooks   *webhook.Service
	Tokens     *auth.Tokens
	Captions   *captions.Service
	Sound      *sound.Service
	Watermarks *watermarks.Service
	Chapters   *chapters.Service
	Speech     *speech.Service
	System     *system.Service
	Player     *playback.Player
	Shares     *share.Service
	Audit      *audit.Log
	SignIn     *signin.Service
	Pictures   *pictures.Service
	Audience   *audience.Service

	Visibility *visibility.Service
}

// group is the operations of one feature. It is declared in a file of its own, which registers and describes them.
type group interface{ register(*table) }

// groups are all operations of the API.
func (a *API) groups() []group {
	s := &a.services
	return []group{
		videoRoutes{s.Catalog, s.Uploads, s.Deleter, s.Visibility},
		listRoutes{s.Catalog},
		tagRoutes{s.Catalog},
		manyRoutes{s.Catalog},
		eventRoutes{s.Catalog, a.subscribers},
		tokenRoutes{s.Tokens},
		newReportRoutes(s.Catalog),
		resolutionRoutes{s.Catalog, s.Deleter},
		replaceRoutes{s.Catalog, s.Deleter},
		audioRoutes{s.Sound, s.Catalog},
		captionRoutes{s.Captions, s.Catalog},
		speechRoutes{s.Speech, s.Catalog},
		watermarkRoutes{s.Watermarks, s.Pictures},
		originalRoutes{s.Player},
		shareRoutes{s.Shares},
		chapterRoutes{s.Chapters},
		posterRoutes{s.Pictures, s.Catalog},
		tenantRoutes{s.Tenants, s.Audience},
		audienceRoutes{s.Audience},
		a.plays,
		a.embeds,
		systemRoutes{s.System},
		webhookRoutes{s.Webhooks},
		keyRoutes{s.Keys, s.Uploads, s.Catalog, s.SignIn},
		sessionRoutes{s.SignIn},
		auditRoutes{s.Audit},
	}
}

// videoView answers both get requests. A feature adds a part to it, which is declared in the feature's own file.
// Parts are exported because huma ignores embedded types that are not.
type videoView struct {
	ID video.ID `json:"id" format:"uuid"`
	VideoBasics[resolutionView]
	VideoRules
	VideoURLs
	VideoFiles
	VideoAudio
	VideoCaptions
	VideoChapters
	VideoSpeech
	VideoOrigins
	VideoDetails
}

func viewPlayback(p catalog.PlaybackInfo) videoView {
	out := videoView{
		ID:            p.Video.ID,
		VideoBasics:   viewVideoBasics[resolutionView](p.Video),
		VideoRules:    viewVideoRules(p.Video),
		VideoURLs:     viewVideoURLs(p.URLs),
		VideoFiles:    viewVideoFiles(p.URLs.Files),
		VideoAudio:    viewVideoAudio(p.Video, p.URLs.Files),
		VideoCaptions: viewVideoCaptions(p.URLs.Files),
		VideoChapters: viewChapters(p.Chapters, p.URLs.Chapters),
		VideoSpeech:   viewSpeech(p.Video),
		VideoOrigins:  viewVideoOrigins(p.Video),
		VideoDetails:  viewVideoDetails(p.State),
	}
	for _, r := range p.Resolutions {
		to := p.URLs.Resolutions[r.Name]
		out.Resolutions = append(out.Resolutions, named[resolutionView]{r.Name, resolutionView{
			ID: r.ID, Status: r.Status, VideoURL: to.Rendition,
			ThumbnailImageURLs: append([]string{}, to.Thumbnails...), // never null
			ResolutionDetails:  viewResolutionDetails(r, to.Rendition, to.Variants),
		}})
	}
	return out
}
