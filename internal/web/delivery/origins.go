package delivery

import (
	"net/http"

	"github.com/spool-video/spool/internal/service/playback"
)

// visitOf returns where a request comes from.
func (d *delivery) visitOf(r *http.Request) playback.Visit {
	return playback.Visit{
		Origin: r.Header.Get("Origin"), Referer: r.Header.Get("Referer"), SameOrigin: r.Header.Get("Sec-Fetch-Site") == "same-origin",
		Server: func() (string, error) { return d.config.Base(r) },
	}
}
