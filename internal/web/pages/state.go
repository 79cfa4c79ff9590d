package pages

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// state is what a page shows of a video, and what its script asks for while the video is not finished.
type state struct {
	Playable bool    `json:"playable"`
	Making   bool    `json:"making"` // more is to come
	Ready    int     `json:"ready"`  // resolutions that are finished
	Settled  bool    `json:"settled"`
	Progress float64 `json:"progress"`
	Heading  string  `json:"heading"` // what is shown in the place of the player
	Message  string  `json:"message"`
	Failed   bool    `json:"failed"`

	HLS        string  `json:"hls"`
	MP4        string  `json:"mp4"`
	Poster     string  `json:"poster"`
	Storyboard string  `json:"storyboard"`
	Chapters   string  `json:"chapters"`
	Texts      []text  `json:"texts"`
	Duration   float64 `json:"duration"` // seconds
	Silent     bool    `json:"silent"`   // it has no sound
	Tall       bool    `json:"tall"`     // higher than wide
	Facts      string  `json:"facts"`
}

// text is captions that the transcript shows.
type text struct {
	Language string `json:"language"`
	Label    string `json:"label"`
	URL      string `json:"url"`
}

// TextList is the list of texts as an attribute.
func (s state) TextList() (string, error) {
	list, err := json.Marshal(s.Texts)
	return string(list), err
}

// Percent is the progress as people read it.
func (s state) Percent() int { return int(s.Progress * 100) }

func stateOf(info catalog.PlaybackInfo) state {
	v := info.Video
	s := state{
		Playable: v.Playable(), Making: v.Status == video.Processing, Settled: info.Settled, Progress: info.Progress,
		HLS: info.URLs.HLS, Duration: v.Duration.Seconds(),
	}
	s.MP4, _ = fileOf(info)
	s.Texts = []text{} // never null
	for _, f := range info.URLs.Files {
		switch {
		case f.Name == video.PosterFile:
			s.Poster = urlIfMade(v, f)
		case f.Name == video.StoryboardFile:
			s.Storyboard = urlIfMade(v, f)
		case f.IsCaptions():
			s.Texts = append(s.Texts, text{f.Language, f.Label, f.URL})
		}
	}
	for _, r := range info.Resolutions {
		if r.Status == video.Ready {
			s.Ready++
		}
	}
	if len(info.Chapters) > 0 {
		s.Chapters = info.URLs.Chapters
	}
	s.Silent = v.Sound != nil && len(v.Sound.Tracks) == 0
	size := sizeOf(info)
	s.Tall = size.height > size.width
	s.Facts = detailLine(info)
	if !s.Playable {
		s.Heading, s.Message, s.Failed = whyNotPlayable(v)
	}
	return s
}

// urlIfMade returns the URL of a picture, or "" while it is still being made: players would ask for it all the time. While
// a resolution is added to a finished video, the pictures exist.
func urlIfMade(v video.Video, f playback.FileURL) string {
	if _, made := v.File(f.Name); made || v.Status.Finished() {
		return f.URL
	}
	return ""
}

// codecName is the name of a format in a failure's message, such as (vvc1), which tells viewers nothing.
var codecName = regexp.MustCompile(` \([^)]*\)`)

// whyNotPlayable tells a viewer why a video cannot be played, and whether that is final.
func whyNotPlayable(v video.Video) (heading, message string, failed bool) {
	switch v.Status {
	case video.PendingUpload:
		return "Not here yet", "This video has not been uploaded yet. It starts here as soon as it can be played.", false
	case video.Processing:
		return "Getting ready", "This video is being prepared. It starts here as soon as it can be played.", false
	case video.Fail:
		message := "Something went wrong while it was prepared."
		if v.Failure != nil {
			message = v.Failure.Message
			if v.Failure.Code == video.UnsupportedCodec {
				message = codecName.ReplaceAllString(message, "")
			}
		}
		return "This video cannot be played", message, true
	default:
		return "Nothing to play", "All of this video's versions were deleted.", true
	}
}

// maxFallback is the short side of the file for browsers without adaptive streaming.
const maxFallback = 720

// fileOf returns the URL and the size of the best MP4 file that is not too large, or of the smallest.
func fileOf(info catalog.PlaybackInfo) (best string, picture size) {
	side := 0
	for _, r := range info.Resolutions {
		short := min(r.Width, r.Height)
		if r.Status != video.Ready {
			continue
		}
		fits, better := short <= maxFallback, short > side
		if side > maxFallback {
			better = short < side
		}
		if best == "" || (fits || side > maxFallback) && better {
			best, side = info.URLs.Resolutions[r.Name].Rendition, short
			picture = size{r.Width, r.Height}
		}
	}
	return best, picture
}

// size is the size of a picture, in pixels.
type size struct{ width, height int }

// sizeOf returns the size of the largest rendition, or 16:9 while there are no renditions.
func sizeOf(info catalog.PlaybackInfo) size {
	var largest size
	for _, r := range info.Resolutions {
		if r.Width > largest.width {
			largest = size{r.Width, r.Height}
		}
	}
	if largest.width == 0 || largest.height == 0 {
		return size{1280, 720}
	}
	return largest
}

// within returns the size scaled down to fit into a box.
func (s size) within(width, height int) size {
	scale := min(1, float64(width)/float64(s.width), float64(height)/float64(s.height))
	return size{max(1, int(float64(s.width)*scale+0.5)), max(1, int(float64(s.height)*scale+0.5))}
}

// detailLine is the line below the title.
func detailLine(info catalog.PlaybackInfo) string {
	var all []string
	if d := info.Video.Duration; d > 0 {
		all = append(all, formatDuration(d))
	}
	var best video.Name
	side := 0
	for _, r := range info.Resolutions {
		if short := min(r.Width, r.Height); r.Status == video.Ready && short > side {
			best, side = r.Name, short
		}
	}
	if best != "" {
		s := sizeOf(info)
		all = append(all, fmt.Sprintf("%d × %d", s.width, s.height))
	}
	all = append(all, info.Video.CreatedAt.UTC().Format("2 January 2006"))
	return strings.Join(all, " · ")
}

// formatDuration writes a duration as players do: 1:02:03.
func formatDuration(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// playerOptions are what the query of a page's URL asks of the player.
type playerOptions struct {
	Autoplay, Muted, Loop bool
	NoControls            bool
	NoLogo, NoTitle       bool
	Color                 string // of the accent, such as #ff8a3d; "": the usual one
	Start                 string // seconds; "": where the viewer left off
	Captions              string // a language; "": none
}

var colour = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)

var language = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$`)

func parseOptions(q url.Values) playerOptions {
	on := func(name string) bool { return q.Get(name) == "1" || q.Get(name) == "true" }
	o := playerOptions{Autoplay: on("autoplay"), Muted: on("muted"), Loop: on("loop")}
	if start, err := strconv.ParseFloat(q.Get("start"), 64); err == nil && start >= 0 && start < 1e7 {
		o.Start = strconv.FormatFloat(start, 'f', -1, 64)
	}
	o.NoControls = q.Get("controls") == "0" || q.Get("controls") == "false"
	o.NoLogo = q.Get("logo") == "0" || q.Get("logo") == "false"
	o.NoTitle = q.Get("title") == "0" || q.Get("title") == "false"
	if c := strings.TrimPrefix(q.Get("color"), "#"); colour.MatchString(c) {
		o.Color = "#" + c
	}
	if c := q.Get("captions"); language.MatchString(c) {
		o.Captions = c
	}
	return o
}
