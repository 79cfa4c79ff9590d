package playback

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// inline is the Content-Disposition of what a browser shows.
const inline = "inline"

// Disposition returns the Content-Disposition of a file that a viewer wants to keep: the MP4 file of
// a resolution is saved under the name of the video, everything else is shown. It asks the database
// and checks no permission: call it for a file that was opened.
func (p *Player) Disposition(ctx context.Context, id video.ID, file string) (string, error) {
	f, ok := objects.ParseFile(file)
	if _, _, isVariant := variantTrack(file); !ok || !f.IsRendition() && !isVariant {
		return inline, nil
	}
	v, err := p.store.Video(ctx, id)
	if err != nil {
		return "", err
	}
	return attachment(video.DownloadName(v.Filename)), nil
}

// attachment writes a file name as RFC 6266 wants it: in ASCII for old clients, and, if that does not
// say all, once more in UTF-8, which others prefer.
func attachment(name string) string {
	ascii := strings.Map(func(r rune) rune {
		// A percent sign would be decoded by some browsers.
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, name)
	if ascii == name {
		return fmt.Sprintf(`attachment; filename="%s"`, ascii)
	}
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, ascii, extValue(name))
}

// extValue encodes a value as RFC 8187 wants it.
func extValue(s string) string {
	// A query is escaped the same way, but for the space and a few characters that are allowed there.
	return strings.NewReplacer("+", "%20", "*", "%2A", "'", "%27").Replace(url.QueryEscape(s))
}
