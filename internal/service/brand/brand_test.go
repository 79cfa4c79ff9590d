package brand_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/video"
)

const (
	png = "\x89PNG\r\n\x1a\n and the rest"
	svg = "<?xml version=\"1.0\"?>\n<!-- by a program -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestABrandIsChangedPartByPart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		now := time.Now()
		brands := brand.New(s, func() time.Time { return now })
		if b, err := brands.Of(t.Context(), "acme"); err != nil || !b.IsUsual() {
			t.Fatalf("before, it is %+v, %v", b, err)
		}
		set := func(c brand.Change) brand.Brand {
			t.Helper()
			b, err := brands.Set(t.Context(), "acme", c)
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
			if read, err := brands.Of(t.Context(), "acme"); err != nil || read != b {
				t.Errorf("it reads %+v, %v; want %+v", read, err, b)
			}
			return b
		}
		first := set(brand.Change{Name: new(" Acme "), Color: new("0A7D4F"), Logo: new([]byte(svg))})
		if first.Name != "Acme" || first.Color != "#0a7d4f" || !strings.HasSuffix(first.Logo, ".svg") || first.URL != "" {
			t.Errorf("it is %+v", first)
		}
		second := set(brand.Change{URL: new("https://acme.example"), Icon: new([]byte(png)), Logo: new([]byte(png))})
		if second.Name != "Acme" || second.Logo != second.Icon || second.IconType() != "image/png" {
			t.Errorf("it is %+v", second)
		}
		if p, err := brands.Picture(t.Context(), first.Logo); err != nil || string(p.Data) != svg || p.Type != "image/svg+xml" {
			t.Errorf("pages that were sent before have the logo %+v, %v", p, err)
		}
		third := set(brand.Change{Logo: new([]byte{}), Color: new("")})
		if third.Logo != "" || third.Color != "" || third.Icon != second.Icon {
			t.Errorf("it is %+v", third)
		}
		if _, err := brand.New(s, time.Now).Picture(t.Context(), first.Logo); video.KindOf(err) != video.NotFound {
			t.Errorf("the first logo is kept for ever: %v", err)
		}
		if b, err := brands.Of(t.Context(), "other"); err != nil || !b.IsUsual() {
			t.Errorf("another tenant looks like %+v, %v", b, err)
		}
	})
}

func TestWhatIsNoBrandIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		brands := brand.New(s, time.Now)
		for _, tt := range []struct {
			name   string
			change brand.Change
			field  string
		}{
			{"a script as the site", brand.Change{URL: new("javascript:alert(1)")}, "url"},
			{"a site without a host", brand.Change{URL: new("https:///x")}, "url"},
			{"a color with a name", brand.Change{Color: new("red")}, "color"},
			{"more than a color", brand.Change{Color: new("#fff;}body{display:none")}, "color"},
			{"two lines", brand.Change{Name: new("a\nb")}, "name"},
			{"a long name", brand.Change{Name: new(strings.Repeat("ä", 101))}, "name"},
			{"a page as a logo", brand.Change{Logo: new([]byte("<html><svg/></html>"))}, "logo"},
			{"a JPEG as a logo", brand.Change{Logo: new([]byte("\xff\xd8\xff"))}, "logo"},
			{"a large icon", brand.Change{Icon: new([]byte(png + strings.Repeat("x", 256<<10)))}, "icon"},
		} {
			_, err := brands.Set(t.Context(), "acme", tt.change)
			if e, ok := errors.AsType[*video.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].Field != tt.field {
				t.Errorf("%s: %v; want a fault of %s", tt.name, err, tt.field)
			}
		}
	})
}
