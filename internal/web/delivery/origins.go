package delivery

import (
	"net/http"

	"github.com/spool-video/spool/internal/service/playback"
)

// visitOf returns where a request comes from.
func (d *delivery) visitOf(r *http.Request) playback.Visit {
	v := playback.Visit{Origin: r.Header.Get("Origin"), Referer: r.Header.Get("Referer"), SameOrigin: r.Header.Get("Sec-Fetch-Site") == "same-origin"}
	if d.config.Base == nil || v.Origin == "" && v.Referer == "" {
		return v
	}
	if base, err := d.config.Base(r); err == nil {
		v.Server = base
	}
	return v
}
