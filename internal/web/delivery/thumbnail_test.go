package delivery

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/video"
)

func TestThumbnailQueries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query string
		want  pictures.Query
		wrong string // the fields that are
	}{
		{"", pictures.Query{}, ""},
		{"time=12.5&width=320", pictures.Query{At: new(12500 * time.Millisecond), Wanted: pictures.Wanted{Width: 320}}, ""},
		{"width=16&height=1920&fit=cover&format=webp", pictures.Query{Wanted: pictures.Wanted{Width: 16, Height: 1920, Fit: pictures.Cover}, Format: video.WebP}, ""},
		{"format=jpeg&fit=contain", pictures.Query{Wanted: pictures.Wanted{Fit: pictures.Contain}}, ""},
		{"time=-1&width=15&height=1921&fit=fill&format=gif", pictures.Query{}, "fit format height time width"},
		{"time=1e3", pictures.Query{}, "time"},
		{"time=inf", pictures.Query{}, "time"},
		{"time=0x1p4", pictures.Query{}, "time"},
		{"time=", pictures.Query{}, "time"},
		{"width=+320", pictures.Query{}, "width"},
		{"width=0320", pictures.Query{}, "width"},
		{"width=320&width=320", pictures.Query{}, "width"},
		{"v=1", pictures.Query{}, "v"},
		{"%zz", pictures.Query{}, ","},
	} {
		got, err := thumbnailQuery(tt.query)
		var wrong []string
		if e, ok := err.(*video.Error); ok {
			for _, f := range e.Faults {
				wrong = append(wrong, f.Field)
			}
		}
		if names := strings.Join(wrong, " "); tt.wrong == "," && err != nil || names == tt.wrong && tt.wrong != "" {
			continue
		}
		if err != nil || tt.wrong != "" {
			t.Errorf("%q is answered %v, want faults of %q", tt.query, err, tt.wrong)
			continue
		}
		if (got.At == nil) != (tt.want.At == nil) || got.At != nil && *got.At != *tt.want.At || got.Wanted != tt.want.Wanted || got.Format != tt.want.Format {
			t.Errorf("%q is %+v, want %+v", tt.query, got, tt.want)
		}
	}
}
