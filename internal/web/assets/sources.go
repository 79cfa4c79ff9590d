package assets

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Sources returns what a Content-Security-Policy calls this server and the origins of some URLs.
// Empty URLs are ignored.
func Sources(urls []string) (string, error) {
	sources := []string{"'self'"}
	for _, raw := range urls {
		if raw == "" {
			continue
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(u.Host, " ;,'*") {
			return "", fmt.Errorf("%q: it is not an http or https URL", raw)
		}
		if origin := u.Scheme + "://" + u.Host; !slices.Contains(sources, origin) {
			sources = append(sources, origin)
		}
	}
	return strings.Join(sources, " "), nil
}
