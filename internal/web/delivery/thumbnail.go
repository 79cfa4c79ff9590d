package delivery

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// minSide and maxSide are the sides that a thumbnail may be asked for.
const minSide, maxSide = 16, 1920

// serveThumbnail sends a picture of any frame. It returns an error only if nothing was sent.
func (d *delivery) serveThumbnail(w http.ResponseWriter, r *http.Request, a playback.Access, c caching) error {
	q, err := thumbnailQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	picture, err := d.pictures.Thumbnail(r.Context(), a, q)
	if err != nil {
		return err
	}
	defer picture.Close()
	name := video.ThumbnailFile + ".jpg"
	if q.Format != "" {
		name = video.ThumbnailFile + "." + string(q.Format)
	}
	w.Header().Set("Content-Disposition", "inline")
	d.tag(w.Header(), a)
	describe(w.Header(), picture.Info(), name, c.revalidated())
	serve(w, r, picture)
	return nil
}

// seconds is a time as addresses have it.
var seconds = regexp.MustCompile(`^[0-9]{1,8}(\.[0-9]{1,12})?$`)

// thumbnailParameters are what may be asked of a thumbnail. Each returns what is wrong with its value.
var thumbnailParameters = map[string]func(*pictures.Query, string) (wrong string){
	"time": func(q *pictures.Query, s string) string {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !seconds.MatchString(s) {
			return "must be a number of seconds, such as 12.5"
		}
		q.At = new(time.Duration(n * float64(time.Second)))
		return ""
	},
	"width":  func(q *pictures.Query, s string) string { return side(s, &q.Width) },
	"height": func(q *pictures.Query, s string) string { return side(s, &q.Height) },
	"fit": func(q *pictures.Query, s string) string {
		if q.Fit = pictures.Fit(s); q.Fit != pictures.Contain && q.Fit != pictures.Cover {
			return "must be contain or cover"
		}
		return ""
	},
	"format": func(q *pictures.Query, s string) string {
		switch s {
		case "jpeg":
		case string(video.WebP):
			q.Format = video.WebP
		default:
			return "must be jpeg or webp"
		}
		return ""
	},
}

func side(s string, to *int) string {
	n, err := strconv.Atoi(s)
	if err != nil || n < minSide || n > maxSide || strconv.Itoa(n) != s {
		return fmt.Sprintf("must be a whole number from %d to %d", minSide, maxSide)
	}
	*to = n
	return ""
}

// thumbnailQuery reads the query of an address. What it does not know is refused: a cache would keep it once more.
func thumbnailQuery(query string) (q pictures.Query, err error) {
	values, err := url.ParseQuery(query)
	if err != nil || len(values) > len(thumbnailParameters)+1 {
		return q, video.InvalidFields(video.Fault{Code: "malformed_query", Message: "the query of the address cannot be read"})
	}
	var faults []video.Fault
	for name, given := range values {
		read, known := thumbnailParameters[name]
		switch {
		case !known:
			faults = append(faults, video.Fault{Field: name, Code: "not_allowed", Message: "is no parameter; there are time, width, height, fit and format"})
		case len(given) > 1:
			faults = append(faults, video.Fault{Field: name, Code: "not_allowed", Message: "must be given once"})
		default:
			if wrong := read(&q, given[0]); wrong != "" {
				faults = append(faults, video.Fault{Field: name, Code: "out_of_range", Message: wrong})
			}
		}
	}
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b video.Fault) int { return strings.Compare(a.Field, b.Field) })
		return q, video.InvalidFields(faults...)
	}
	return q, nil
}
