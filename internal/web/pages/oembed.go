package pages

import (
	"bytes"
	"cmp"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

const (
	// maxPoster is the width of a poster at most.
	maxPoster = 1280
	// maxShown is the width and height of the player in pages of others, unless they say.
	maxShown = 1280
)

// card is what other sites show of a video.
type card struct {
	Watch, Embed, OEmbed      string
	Image, Video              string
	VideoWidth, VideoHeight   int    // of the file
	ImageWidth, ImageHeight   int    // 0: not known
	Code                      string // for copying into a page
	Description               string
	PlayerWidth, PlayerHeight int
}

func cardOf(info catalog.PlaybackInfo, base string) card {
	s, image := sizeOf(info), posterSize(info)
	shown := s.within(maxShown, maxShown)
	state := stateOf(info)
	_, file := fileOf(info)
	return card{
		Watch: info.URLs.Watch, Embed: info.URLs.Embed, OEmbed: base + "/oembed?format=json&url=" + url.QueryEscape(info.URLs.Watch),
		Image: state.Poster, Video: sharedFile(info, state.MP4), VideoWidth: file.width, VideoHeight: file.height, PlayerWidth: shown.width, PlayerHeight: shown.height,
		ImageWidth: image.width, ImageHeight: image.height,
		Code: responsiveCode(info.URLs.Embed, info.Video.Title, s), Description: detailLine(info),
	}
}

// sharedFile returns the address of a file for other sites, or "" if they may not play it.
func sharedFile(info catalog.PlaybackInfo, address string) string {
	if info.Video.Restricted() {
		return ""
	}
	return address
}

// posterSize returns the size of the poster, which is as large as the source: a rendition may be smaller or
// larger. It is zero until there is a poster. The size of older posters was not recorded.
func posterSize(info catalog.PlaybackInfo) size {
	f, made := info.Video.File(video.PosterFile)
	switch {
	case !made:
		return size{}
	case f.Width > 0 && f.Height > 0:
		return size{f.Width, f.Height}
	}
	return sizeOf(info).within(maxPoster, math.MaxInt32)
}

var (
	fixedFrame = template.Must(template.New("").Parse(
		`<iframe src="{{.URL}}" title="{{.Title}}" width="{{.Width}}" height="{{.Height}}" frameborder="0" allow="autoplay; picture-in-picture" allowfullscreen loading="lazy"></iframe>`))
	responsiveFrame = template.Must(template.New("").Parse(
		`<iframe src="{{.URL}}" title="{{.Title}}" style="width: 100%; aspect-ratio: {{.Width}} / {{.Height}}; border: 0" allow="autoplay; picture-in-picture" allowfullscreen loading="lazy"></iframe>`))
)

type frameCode struct {
	URL, Title    string
	Width, Height int
}

// responsiveCode is an iframe that is as wide as what surrounds it.
func responsiveCode(embed, title string, s size) string {
	r := s.ratio()
	return renderFrameCode(responsiveFrame, frameCode{embed, title, r.width, r.height})
}

// ratio returns the shape of a picture. Sizes are rounded to even numbers, so the size of a usual shape is
// not exact: 426 × 240 is 16:9.
func (s size) ratio() size {
	is := float64(s.width) / float64(s.height)
	for _, usual := range []size{{16, 9}, {9, 16}, {4, 3}, {3, 4}, {1, 1}, {21, 9}} {
		if want := float64(usual.width) / float64(usual.height); math.Abs(is/want-1) < 0.01 {
			return usual
		}
	}
	return s
}

func renderFrameCode(t *template.Template, f frameCode) string {
	var out bytes.Buffer
	_ = t.Execute(&out, f) // it writes to memory, and has all it needs
	return out.String()
}

// oembedAnswer is the answer of oembed.com's specification for a video.
type oembedAnswer struct {
	Version         string `json:"version"`
	Type            string `json:"type"`
	ProviderName    string `json:"provider_name"`
	ProviderURL     string `json:"provider_url"`
	Title           string `json:"title"`
	HTML            string `json:"html"`
	Width           int    `json:"width"`
	Height          int    `json:"height"`
	Duration        int    `json:"duration,omitempty"` // seconds
	ThumbnailURL    string `json:"thumbnail_url,omitempty"`
	ThumbnailWidth  int    `json:"thumbnail_width,omitempty"`
	ThumbnailHeight int    `json:"thumbnail_height,omitempty"`
	CacheAge        int    `json:"cache_age"` // seconds
}

// oembed answers GET /oembed?url=…&maxwidth=…&maxheight=…&format=json.
func (p *pages) oembed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	err := p.allow(r)
	if err == nil {
		err = p.answerOEmbed(w, r)
	}
	if err != nil {
		problem.Write(w, r, err)
	}
}

func (p *pages) answerOEmbed(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if f := q.Get("format"); f != "" && f != "json" {
		return &video.Error{Kind: video.NotImplemented, Code: "format_not_supported", Msg: "The only format is json."}
	}
	most, err := parseMaxSize(q)
	if err != nil {
		return err
	}
	base, err := p.Base(r)
	if err != nil {
		return err
	}
	id, ok := videoIDOfURL(q.Get("url"), base)
	if !ok {
		return video.VideoNotFound()
	}
	info, err := p.catalog.Watch(r.Context(), id, base)
	if err != nil {
		return err
	}
	by, err := p.lookOf(r.Context(), info.Video.Tenant, base+"/")
	if err != nil {
		return err
	}
	return writeJSON(w, r, describe(info, base, by, most), "public, max-age=60")
}

func describe(info catalog.PlaybackInfo, base string, by look, most size) oembedAnswer {
	c, s := cardOf(info, base), sizeOf(info).within(cmp.Or(most.width, maxShown), cmp.Or(most.height, maxShown))
	a := oembedAnswer{
		Version: "1.0", Type: "video", ProviderName: by.Name, ProviderURL: by.URL, Title: info.Video.Title,
		HTML:  renderFrameCode(fixedFrame, frameCode{c.Embed, info.Video.Title, s.width, s.height}),
		Width: s.width, Height: s.height, Duration: int(info.Video.Duration.Seconds()), CacheAge: 3600,
	}
	// A picture that is larger than what was asked for must not be named, nor one without a size.
	fits := (most.width == 0 || c.ImageWidth <= most.width) && (most.height == 0 || c.ImageHeight <= most.height)
	if c.Image != "" && c.ImageWidth > 0 && fits {
		a.ThumbnailURL, a.ThumbnailWidth, a.ThumbnailHeight = c.Image, c.ImageWidth, c.ImageHeight
	}
	return a
}

// parseMaxSize returns the largest size that a request allows; 0: it does not say.
func parseMaxSize(q url.Values) (size, error) {
	var most size
	var faults []video.Fault
	for name, to := range map[string]*int{"maxwidth": &most.width, "maxheight": &most.height} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100_000 {
			faults = append(faults, video.Fault{Field: name, Code: "out_of_range", Message: "must be an integer from 1 to 100000"})
			continue
		}
		*to = n
	}
	if len(faults) > 0 {
		return size{}, video.InvalidFields(faults...)
	}
	return most, nil
}

// videoIDOfURL returns the video in the URL of a watch page or of a public embed page. The scheme is not
// compared: links are often written without it.
func videoIDOfURL(raw, base string) (video.ID, bool) {
	own, err := url.Parse(base)
	if err != nil {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(u.Host, own.Host) || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	rest, ok := strings.CutPrefix(u.Path, own.Path)
	if !ok {
		return "", false
	}
	for _, prefix := range []string{"/watch/", "/embed/"} {
		if text, ok := strings.CutPrefix(rest, prefix); ok {
			id, err := video.ParseID("url", text)
			return id, err == nil
		}
	}
	return "", false
}
