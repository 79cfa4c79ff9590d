package pages

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/video"
)

// brandPath is where the logos, icons and colors of brands are. Each has an address of its own, which never changes.
const brandPath = "/brand/"

const usualName = "Spool"

// look is how a page presents whom its video is from.
type look struct {
	Name, URL  string
	Own        bool // it is not Spool's
	Logo, Icon string
	IconType   string
	Style      string // a style sheet with its color; "": the usual one
}

// lookOf returns how the pages of a tenant look. root leads to /.
func (p *pages) lookOf(ctx context.Context, tenant video.Tenant, root string) (look, error) {
	l := look{Name: usualName, URL: root}
	b, err := p.Brands.Of(ctx, tenant)
	if err != nil || b.IsUsual() {
		return l, err
	}
	at := func(name string) string {
		if name == "" {
			return ""
		}
		return root + strings.TrimPrefix(brandPath, "/") + name
	}
	l.Logo, l.Icon, l.IconType = at(b.Logo), at(b.Icon), b.IconType()
	if b.Color != "" {
		l.Style = at(strings.TrimPrefix(b.Color, "#") + ".css")
	}
	if b.Name == "" && b.Logo == "" {
		return l, nil
	}
	l.Own, l.URL = true, cmp.Or(b.URL, root)
	if l.Name = b.Name; l.Name == "" {
		l.Name = string(tenant)
		if u, err := url.Parse(b.URL); err == nil && u.Host != "" {
			l.Name = u.Host
		}
	}
	return l, nil
}

var brandColor = regexp.MustCompile(`^([0-9a-f]{6})\.css$`)

// brandFile answers GET /brand/{file}: a picture, or the style sheet of a color.
func (p *pages) brandFile(w http.ResponseWriter, r *http.Request) error {
	file := r.PathValue("file")
	picture := brand.Picture{Type: "text/css; charset=utf-8"}
	if m := brandColor.FindStringSubmatch(file); m != nil {
		picture.Data = []byte(styleOf(m[1]))
	} else {
		var err error
		if picture, err = p.Brands.Picture(r.Context(), file); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", picture.Type)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox") // an SVG may be opened as a page
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Length", strconv.Itoa(len(picture.Data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(picture.Data) // fails if the client has disconnected
	}
	return nil
}

// What the colors of tokens.css are read on, and how much lighter or darker WCAG 2 wants text to be.
var (
	lightGround, darkGround, stage = rgb{0xfa, 0xf9, 0xf7}, rgb{0x13, 0x12, 0x10}, rgb{0x20, 0x20, 0x20}
	black, white                   = rgb{}, rgb{255, 255, 255}
)

const (
	textContrast = 4.5
	markContrast = 3 // of what is no text, such as the played part of the time line
)

// styleOf returns a style sheet with a color as the accent, as dark or light as it must be to be read.
func styleOf(hex string) string {
	n, _ := strconv.ParseUint(hex, 16, 32) // the pattern of the address lets nothing else in
	c := rgb{float64(n >> 16), float64(n >> 8 & 255), float64(n & 255)}
	return fmt.Sprintf(":root { --accent: %[1]s; --accent-strong: %[1]s; --spool-accent: %[2]s; }\n"+
		"@media (prefers-color-scheme: dark) { :root { --accent: %[3]s; --accent-strong: %[3]s; } }\n",
		c.readable(lightGround, black, textContrast), c.readable(stage, white, markContrast), c.readable(darkGround, white, textContrast))
}

type rgb [3]float64

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", int(c[0]), int(c[1]), int(c[2])) }

// readable mixes c with another color until it stands out from the ground.
func (c rgb) readable(ground, with rgb, contrast float64) rgb {
	mixed := c
	for part := 0.0; part <= 1 && mixed.contrast(ground) < contrast; part += 0.05 {
		for i := range mixed {
			mixed[i] = math.Round(c[i]*(1-part) + with[i]*part)
		}
	}
	return mixed
}

// contrast is the ratio of two colors as WCAG 2 defines it.
func (c rgb) contrast(other rgb) float64 {
	a, b := c.luminance(), other.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

func (c rgb) luminance() float64 {
	linear := func(v float64) float64 {
		if v /= 255; v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
