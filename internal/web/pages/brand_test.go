package pages

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/service/share"
)

func TestPagesLookLikeTheirTenant(t *testing.T) {
	t.Parallel()
	s := serve(t, ready())
	const logo = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	b, err := brand.New(s.Store, s.Now).Set(t.Context(), s.By.Tenant, brand.Change{
		Name: new(nasty), URL: new("https://acme.example/?a=1&b=2"), Color: new("#00ff00"), Logo: new([]byte(logo)), Icon: new([]byte("\x89PNG\r\n\x1a\n")),
	})
	s.Must(err)
	for path, root := range map[string]string{"/watch/" + publicID: "../", "/embed/" + publicID: "../", s.share(share.Draft{}): "../"} {
		_, body := get(t, s, path)
		for _, want := range []string{
			root + "brand/" + b.Logo, root + "brand/" + b.Icon, `type="image/png"`, root + "brand/00ff00.css", `href="https://acme.example/?a=1&amp;b=2"`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: there is no %s in\n%s", path, want, body)
			}
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, ">Spool<") {
			t.Errorf("%s:\n%s", path, body)
		}
	}
	if _, body := get(t, s, "/embed/"+publicID+"?logo=0"); strings.Contains(body, "brand/"+b.Logo) {
		t.Error("?logo=0 shows a logo")
	}
	if _, body := get(t, s, "/oembed?url="+base+"/watch/"+publicID); !strings.Contains(body, `"provider_url":"https://acme.example/?a=1\u0026b=2"`) {
		t.Errorf("oEmbed says %s", body)
	}
	if res, body := get(t, s, "/brand/"+b.Logo); res.StatusCode != http.StatusOK || body != logo || res.Header.Get("Content-Type") != "image/svg+xml" ||
		!strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("the logo is %+v, %s", res, body)
	}
	for _, path := range []string{"/brand/x.svg", "/brand/red.css", "/brand/00FF00.css", "/brand/"} {
		if res, _ := get(t, s, path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
}

func TestABrandWithoutANameHasOne(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]brand.Change{
		"acme.example": {URL: new("https://acme.example/films"), Logo: new([]byte("<svg />"))},
		"default":      {Logo: new([]byte("<svg />"))},
		"Spool":        {URL: new("https://acme.example")}, // without a logo or a name nothing leads there
	} {
		s := serve(t, ready())
		_, err := brand.New(s.Store, s.Now).Set(t.Context(), s.By.Tenant, change)
		s.Must(err)
		if _, body := get(t, s, "/oembed?url="+base+"/watch/"+publicID); !strings.Contains(body, `"provider_name":"`+want+`"`) {
			t.Errorf("oEmbed says %s; want %s", body, want)
		}
	}
}

func TestEveryColorOfABrandCanBeRead(t *testing.T) {
	t.Parallel()
	for _, hex := range []string{"000000", "ffffff", "ffff00", "00ff00", "0000ff", "808080", "0a7d4f", "ff8a3d"} {
		var colors []rgb
		for _, part := range strings.Split(styleOf(hex), "#")[1:] {
			var c rgb
			for i := range c {
				c[i] = float64(16*digit(part[2*i]) + digit(part[2*i+1]))
			}
			colors = append(colors, c)
		}
		for i, want := range []struct {
			ground   rgb
			contrast float64
		}{{lightGround, textContrast}, {lightGround, textContrast}, {stage, markContrast}, {darkGround, textContrast}, {darkGround, textContrast}} {
			if got := colors[i].contrast(want.ground); got < want.contrast {
				t.Errorf("#%s becomes %s on %s, with a contrast of %.2f; want %.1f", hex, colors[i], want.ground, got, want.contrast)
			}
		}
	}
	if got := styleOf("0a7d4f"); !strings.Contains(got, "--accent: #0a7d4f") {
		t.Errorf("a color that can be read becomes %s", got)
	}
}

func digit(b byte) int { return strings.IndexByte("0123456789abcdef", b) }
