package delivery

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// negotiate returns the formats that the client takes instead of a file: none unless the file is a poster
// or a thumbnail, which may exist in formats with smaller files than JPEG. They are sent at the same address
// to clients that name the format in Accept, and Vary says so to caches.
func negotiate(w http.ResponseWriter, r *http.Request, file string) []video.PictureFormat {
	if !objects.HasAlternates(file) {
		return nil
	}
	w.Header().Set("Vary", "Accept")
	return pictureFormats(r.Header["Accept"])
}

// alternateCaching says who may cache a picture that is not sent to every client. Some CDNs ignore Vary, and
// would send to everybody what they got for the first client. So JPEG is all that shared caches may keep.
func alternateCaching(c caching) caching {
	c.who, c.purged = "private", false
	return c
}

// maxAccept is how much of an Accept header is looked at. Browsers send about a hundred bytes.
const maxAccept = 1 << 10

// pictureFormats returns the formats that a client prefers to JPEG, or likes as much. They must be named:
// clients that accept everything often cannot show it.
func pictureFormats(accept []string) []video.PictureFormat {
	all := strings.ToLower(strings.Join(accept, ","))
	if len(all) > maxAccept {
		return nil
	}
	weights := map[string]float64{}
	for item := range strings.SplitSeq(all, ",") {
		kind, parameters, _ := strings.Cut(item, ";")
		weights[strings.TrimSpace(kind)] = weightOf(parameters)
	}
	jpeg := 0.0
	for _, kind := range []string{"image/jpeg", "image/*", "*/*"} { // the most specific one counts
		if q, named := weights[kind]; named {
			jpeg = q
			break
		}
	}
	var accepted []video.PictureFormat
	for _, f := range video.PictureFormats {
		if q := weights[f.MediaType()]; q > 0 && q >= jpeg {
			accepted = append(accepted, f)
		}
	}
	return accepted
}

// weightOf reads the q of an item of Accept. One that makes no sense refuses the item.
func weightOf(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		if value, found := strings.CutPrefix(strings.TrimSpace(p), "q="); found {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}
