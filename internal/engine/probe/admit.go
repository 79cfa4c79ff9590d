package probe

import (
	"net/http"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Admit looks at the first SniffSize bytes of a file. If no video begins like this,
// it returns a *video.Failure that says what they look like. sound says that a file
// with sound alone will do.
func Admit(head []byte, sound bool) error {
	if Sniff(head) != "" || sound && SniffSound(head) != "" {
		return nil
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	class, _, _ := strings.Cut(kind, "/")
	what := resemblances[kind]
	if what == "" {
		what = resemblances[class]
	}
	if what == "" || len(head) == 0 {
		return video.Failf(video.NotAVideo, "The file does not begin like any video format that Spool knows.")
	}
	return video.Failf(video.NotAVideo, "The file is not a video: it begins like %s.", what)
}

// resemblances are what people upload by mistake, by media type or its class.
var resemblances = map[string]string{
	"image":                        "a picture",
	"audio":                        "a sound file",
	"text":                         "a text",
	"text/html":                    "a web page",
	"application/pdf":              "a PDF document",
	"application/zip":              "an archive",
	"application/x-gzip":           "an archive",
	"application/x-rar-compressed": "an archive",
}
