package delivery

import (
	"net/http"
	"strings"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/video"
)

// cmcdHeaders are the headers in which players send CMCD, if not in the query.
var cmcdHeaders = []string{"Cmcd-Session", "Cmcd-Object", "Cmcd-Request", "Cmcd-Status"}

// countWatched counts what a player tells with its request for a file, which it may have.
func (d *delivery) countWatched(r *http.Request, id video.ID, file string) {
	if d.config.Audience == nil || r.Method != http.MethodGet {
		return
	}
	text := strings.Join(cmcdOf(r), ",")
	if text == "" {
		return
	}
	if told, ok := audience.ParseCMCD(text); ok {
		who := audience.VisitorOf(r, limit.ClientOf(r, d.config.TrustedProxies))
		d.config.Audience.Request(id, who, told, file)
	}
}

func cmcdOf(r *http.Request) (all []string) {
	for _, name := range cmcdHeaders {
		if text := r.Header.Get(name); text != "" {
			all = append(all, text)
		}
	}
	if strings.Contains(r.URL.RawQuery, "CMCD=") {
		if text := r.URL.Query().Get("CMCD"); text != "" {
			all = append(all, text)
		}
	}
	return all
}
