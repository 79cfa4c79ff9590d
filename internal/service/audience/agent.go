package audience

import "strings"

// rule says what a word in a user agent means. Words are looked for in lower case.
type rule struct{ word, name string }

// The first rule that fits decides: browsers name those that they are made of, too.
var (
	deviceRules = []rule{
		{"smart-tv", "tv"}, {"smarttv", "tv"}, {"googletv", "tv"}, {"android tv", "tv"}, {"appletv", "tv"}, {"apple tv", "tv"}, {"tvos", "tv"}, {"bravia", "tv"},
		{"web0s", "tv"}, {"webos", "tv"}, {"tizen", "tv"}, {"roku", "tv"}, {"aftt", "tv"}, {"crkey", "tv"}, {"hbbtv", "tv"},
		{"playstation", "console"}, {"xbox", "console"}, {"nintendo", "console"},
		{"ipad", "tablet"}, {"tablet", "tablet"}, {"kindle", "tablet"}, {"silk/", "tablet"},
		{"iphone", "mobile"}, {"ipod", "mobile"}, {"mobile", "mobile"}, {"windows phone", "mobile"},
		{"android", "tablet"}, // phones say mobile, too
		{"windows", "desktop"}, {"macintosh", "desktop"}, {"cros", "desktop"}, {"x11", "desktop"}, {"linux", "desktop"},
	}
	browserRules = []rule{
		{"edg/", "Edge"}, {"edga/", "Edge"}, {"edgios/", "Edge"}, {"opr/", "Opera"}, {"opera", "Opera"}, {"opios/", "Opera"},
		{"samsungbrowser", "Samsung Internet"}, {"yabrowser", "Yandex"}, {"vivaldi", "Vivaldi"}, {"duckduckgo", "DuckDuckGo"}, {"ucbrowser", "UC Browser"},
		{"firefox", "Firefox"}, {"fxios", "Firefox"}, {"crios", "Chrome"}, {"chromium", "Chrome"}, {"headlesschrome", "Chrome"},
		{"vlc", "VLC"}, {"lavf", "FFmpeg"}, {"mpv", "mpv"}, {"exoplayer", "ExoPlayer"}, {"androidxmedia3", "ExoPlayer"}, {"applecoremedia", "AVPlayer"}, {"kodi", "Kodi"},
		{"chrome", "Chrome"}, {"safari", "Safari"},
	}
)

// maxAgent is how much of a user agent is looked at.
const maxAgent = 512

// agentOf returns the kind of device and the browser that a user agent names.
func agentOf(userAgent string) (device, browser string) {
	text := strings.ToLower(userAgent[:min(len(userAgent), maxAgent)])
	return first(deviceRules, text), first(browserRules, text)
}

func first(rules []rule, text string) string {
	for _, r := range rules {
		if strings.Contains(text, r.word) {
			return r.name
		}
	}
	return otherName
}
