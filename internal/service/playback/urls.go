package playback

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// URLs are the addresses at which a video is played.
type URLs struct {
	HLS, DASH   string                        // where the streams of all resolutions begin
	Chapters    string                        // WebVTT with the chapters, if there are any
	Embed       string                        // the page with the player alone
	Watch       string                        // the page for people, of a public video only
	Resolutions map[video.Name]ResolutionURLs // of every resolution
	Files       []FileURL                     // that the video lists, and those that it will list
}

// FileURL is the address of a file that a video lists. Of one that it will list, nothing but the name
// is known.
type FileURL struct {
	video.File
	URL string
}

// ResolutionURLs are the addresses of one resolution.
type ResolutionURLs struct {
	Rendition  string   // the MP4 file
	Thumbnails []string // one for each timestamp, in the order given
	Variants   map[video.Codec]string
}

// Base is what addresses start with, such as "https://video.example.com".
type Base struct {
	Pages string // this server
	Files string // what is played: this server, or a CDN in front of it
}

// NewBase returns the base of a server, behind a CDN unless that is empty.
func NewBase(server, cdn string) Base { return Base{Pages: server, Files: cmp.Or(cdn, server)} }

// PublicURLs returns the permanent addresses of a public video.
func PublicURLs(v video.Video, base Base) URLs {
	u := urls(v, publicAddress(v, base))
	u.Embed, u.Watch = base.Pages+"/embed/"+string(v.ID), base.Pages+"/watch/"+string(v.ID)
	return u
}

// SignedURLs returns addresses of a private video that expire.
func SignedURLs(v video.Video, base Base, keys *auth.SigningKeys, expires time.Time) URLs {
	u := urls(v, signedAddress(v, base, keys, expires))
	u.Embed = base.Pages + "/embed/" + keys.Sign(sign.Embed, string(v.ID), expires) + "/" + string(v.ID)
	return u
}

// PageURLs returns the addresses of the files of a video for a page of this server. They are not asked for an origin. They
// end when the video becomes private or public, as others do.
func PageURLs(v video.Video, base Base, keys *auth.SigningKeys, expires time.Time) URLs {
	token := keys.Sign(sign.Page, pageSubject(objects.PlaybackArea(v), v.ID), expires)
	folder := base.Files + "/v/" + token + "/" + string(v.ID) + "/"
	return urls(v, func(file string) string { return folder + file })
}

// pageSubject is what the addresses of a page are signed for.
func pageSubject(area objects.Area, id video.ID) string { return string(area) + "/" + string(id) }

// FileURLs returns URLs.Files alone, which takes fewer signatures. The URLs of a private video expire.
func FileURLs(v video.Video, base Base, keys *auth.SigningKeys, expires time.Time) []FileURL {
	if v.IsPublic {
		return fileURLs(v, publicAddress(v, base))
	}
	return fileURLs(v, signedAddress(v, base, keys, expires))
}

// addressOf returns the address of a file of a video.
type addressOf func(file string) string

func publicAddress(v video.Video, base Base) addressOf {
	return func(file string) string { return base.Files + "/v/" + string(v.ID) + "/" + file }
}

func signedAddress(v video.Video, base Base, keys *auth.SigningKeys, expires time.Time) addressOf {
	return func(file string) string {
		purpose, subject := signedFor(v.ID, file)
		return base.Files + "/v/" + keys.Sign(purpose, subject, expires) + "/" + string(v.ID) + "/" + file
	}
}

func urls(v video.Video, address addressOf) URLs {
	u := URLs{HLS: address(stream.MasterFile), DASH: address(stream.ManifestFile), Chapters: address(stream.ChaptersVTTFile), Resolutions: map[video.Name]ResolutionURLs{}, Files: fileURLs(v, address)}
	for _, r := range v.Resolutions {
		one := ResolutionURLs{Rendition: address(objects.RenditionFile(r.Name))}
		for _, c := range v.Codecs {
			if one.Variants == nil {
				one.Variants = map[video.Codec]string{}
			}
			one.Variants[c] = address(video.VariantFile(c, r.Name))
		}
		for i := range v.Thumbnails {
			one.Thumbnails = append(one.Thumbnails, address(objects.ThumbnailFile(r.Name, i)))
		}
		u.Resolutions[r.Name] = one
	}
	return u
}

// fileURLs returns the addresses of the files that the video lists. Those that every video gets have
// theirs before they are made.
func fileURLs(v video.Video, address addressOf) []FileURL {
	var all []FileURL
	for _, f := range v.Files {
		all = append(all, FileURL{File: f, URL: address(f.Name)})
	}
	for _, name := range pipeline.Published() {
		if _, listed := v.File(name); !listed && (!v.Status.Finished() || slices.Contains(v.Awaited, name)) {
			all = append(all, FileURL{File: video.File{Name: name}, URL: address(name)})
		}
	}
	for _, t := range v.AudioTracks() {
		if _, listed := v.File(t.File()); !listed && v.AwaitsTrack(t.File()) {
			all = append(all, FileURL{File: video.File{Name: t.File()}, URL: address(t.File())})
		}
	}
	if v.Status != video.Fail {
		all = append(all, FileURL{File: video.File{Name: video.ThumbnailFile}, URL: address(video.ThumbnailFile)})
	}
	return all
}

// signedFor returns what the address of a file is signed for: this very file, or the whole stream
// that it belongs to. The playlists of a stream name the other files by relative addresses, which
// then carry the same signature. So does a storyboard. A picture in another format is sent in the place
// of its JPEG, and has the address of that.
func signedFor(id video.ID, file string) (sign.Purpose, string) {
	if video.IsStoryboardFile(file) {
		return sign.Sprites, string(id)
	}
	if isStreamFile(file) {
		return sign.Stream, string(id)
	}
	jpeg, _ := video.CutFormat(file)
	return sign.Playback, string(id) + "/" + jpeg
}

// isStreamFile reports whether a file is made when it is asked for. The storage has no such object.
func isStreamFile(file string) bool {
	_, ok := stream.Parse(file)
	return ok
}

// IsPlaylist reports whether a file is one that names others.
func IsPlaylist(file string) bool {
	return strings.HasSuffix(file, ".m3u8") || file == stream.ManifestFile
}

// IsVersioned reports whether another content has another name: the name of a file of a stream says of which version of
// the video it is, and the name of captions depends on the text.
func IsVersioned(file string) bool {
	_, isText := stream.TextName(file)
	return isText || isStreamFile(file) && !MayChange(file)
}

// MayChange reports whether the content of a file may change while its video lives. The list of
// renditions does: they become ready one after the other, and can be deleted. Chapters are set anew.
func MayChange(file string) bool {
	f, ok := stream.Parse(file)
	return ok && slices.Contains([]stream.Kind{stream.Master, stream.Manifest, stream.ChaptersVTT, stream.ChaptersJSON}, f.Kind)
}
