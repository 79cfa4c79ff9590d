package video_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestDraftCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*video.Draft)
		want  []string // "field code" of each fault, in order
	}{
		{"a whole draft", func(*video.Draft) {}, nil},
		{"the least that can be asked", func(d *video.Draft) {
			*d = video.Draft{Filename: "a", Resolutions: []video.Name{"144p"}}
		}, nil},
		{"every resolution at once, some twice", func(d *video.Draft) {
			d.Resolutions = slices.Concat(video.Names, video.Names)
		}, nil},
		{"no file name", func(d *video.Draft) { d.Filename = "" }, []string{"filename out_of_range"}},
		{"a file name of 255 characters", func(d *video.Draft) { d.Filename = strings.Repeat("a", 255) }, nil},
		{"a file name of 256 characters", func(d *video.Draft) { d.Filename = strings.Repeat("a", 256) },
			[]string{"filename out_of_range"}},
		{"characters count, not bytes", func(d *video.Draft) { d.Filename = strings.Repeat("🎬", 255) }, nil},
		{"256 characters of four bytes", func(d *video.Draft) { d.Filename = strings.Repeat("🎬", 256) },
			[]string{"filename out_of_range"}},
		{"a file name that not every database can store", func(d *video.Draft) { d.Filename = "a\x00.mp4" }, []string{"filename not_allowed"}},
		{"no resolution", func(d *video.Draft) { d.Resolutions = nil }, []string{"resolutions out_of_range"}},
		{"each unknown resolution is named", func(d *video.Draft) {
			d.Resolutions = []video.Name{"720p", "721p", "4k", ""}
		}, []string{"resolutions[1] not_allowed", "resolutions[3] not_allowed"}},
		{"101 resolutions", func(d *video.Draft) { d.Resolutions = slices.Repeat([]video.Name{"9p"}, 101) },
			[]string{"resolutions out_of_range"}},
		{"everything at once", func(d *video.Draft) {
			*d = video.Draft{Resolutions: []video.Name{"7k"}, Thumbnails: []float64{-1}, Metadata: metadata(video.MaxMetadataBytes + 1)}
		}, []string{"filename out_of_range", "resolutions[0] not_allowed",
			"thumbnailTimestampsSeconds[0] out_of_range", "customMetadata out_of_range"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := video.Draft{Filename: "film.mp4", Resolutions: []video.Name{"720p"}, Thumbnails: []float64{0, 1.5}, Metadata: metadata(2)}
			tt.spoil(&d)
			wantFaults(t, d.Check(), tt.want)
		})
	}
}

func TestAnImportMayLeaveOutItsNameAndItsResolutions(t *testing.T) {
	t.Parallel()
	defaults := []video.Name{"720p", "480p"}
	for address, want := range map[string]string{
		"https://a.example/films/b.mp4":                          "b.mp4",
		"https://a.example/films/b.mp4?token=x#end":              "b.mp4",
		"https://a.example/My%20holiday.mov":                     "My holiday.mov",
		"https://a.example/films/":                               "films",
		"https://a.example/a%2Fb.mp4":                            "b.mp4",
		"https://a.example":                                      "video",
		"https://a.example/":                                     "video",
		"https://a.example/a%00.mp4":                             "video",
		"https://a.example/a%ff.mp4":                             "a_.mp4",
		"https://a.example/%zz":                                  "video",
		"https://a.example/" + strings.Repeat("x", 300) + ".mp4": strings.Repeat("x", 251) + ".mp4",
	} {
		d := video.Draft{SourceURL: &address}
		wantFaults(t, d.Check(), nil)
		got := d.WithDefaults(defaults)
		if got.Filename != want || !slices.Equal(got.Resolutions, defaults) {
			t.Errorf("%s is called %q and made in %v; want %q", address, got.Filename, got.Resolutions, want)
		}
		wantFaults(t, got.Check(), nil)
	}
	address := "https://a.example/b.mp4"
	asked := video.Draft{SourceURL: &address, Filename: "c.mp4", Resolutions: []video.Name{"4k"}}
	if got := asked.WithDefaults(defaults); got.Filename != "c.mp4" || !slices.Equal(got.Resolutions, asked.Resolutions) {
		t.Errorf("%+v became %+v", asked, got)
	}
	if got := (video.Draft{}).WithDefaults(defaults); got.Filename != "" || got.Resolutions != nil {
		t.Errorf("an upload became %+v", got)
	}
}

func TestDraftCheckThumbnails(t *testing.T) {
	t.Parallel()
	const list = "thumbnailTimestampsSeconds"
	tests := []struct {
		name string
		in   []float64
		want []string
	}{
		{"none", nil, nil},
		{"50 of them", make([]float64, 50), nil},
		{"51 of them", make([]float64, 51), []string{list + " out_of_range"}},
		{"zero, a fraction, and far behind any end", []float64{0, 0.001, 1e9}, nil},
		{"minus zero is zero", []float64{math.Copysign(0, -1)}, nil},
		{"just below zero", []float64{0, -math.SmallestNonzeroFloat64}, []string{list + "[1] out_of_range"}},
		{"not a number", []float64{math.NaN()}, []string{list + "[0] out_of_range"}},
		{"infinite both ways", []float64{math.Inf(1), 1, math.Inf(-1)}, []string{list + "[0] out_of_range", list + "[2] out_of_range"}},
		{"too many, and one of them wrong", append(make([]float64, 50), -3), []string{list + " out_of_range", list + "[50] out_of_range"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, video.CheckThumbnails(tt.in), tt.want)
		})
	}
}

func TestDraftCheckMetadata(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   json.RawMessage
		want []string
	}{
		{"none", nil, nil},
		{"empty object", json.RawMessage("{}"), nil},
		{"the last byte that fits", metadata(16 << 10), nil},
		{"one byte more", metadata(16<<10 + 1), []string{"customMetadata out_of_range"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, video.CheckMetadata(tt.in), tt.want)
		})
	}
}

// metadata returns a JSON object of n bytes.
func metadata(n int) json.RawMessage {
	return json.RawMessage("{" + strings.Repeat(" ", n-2) + "}")
}

func wantFaults(t *testing.T, faults []video.Fault, want []string) {
	t.Helper()
	var got []string
	for _, f := range faults {
		got = append(got, f.Field+" "+f.Code)
		if f.Message == "" {
			t.Errorf("the fault in %s has no sentence for a person", f.Field)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults = %q, want %q", got, want)
	}
}

func TestDefaultTitle(t *testing.T) {
	t.Parallel()
	for filename, want := range map[string]string{
		"holiday.mov": "holiday", "a.b.MP4": "a.b", "noextension": "noextension", ".mp4": ".mp4", "film.": "film", " \u2003.mp4": " \u2003.mp4",
		"Dr. Who and friends": "Dr. Who and friends", "Dr. Who.mkv": "Dr. Who", "../../etc/passwd": "../../etc/passwd", "a.b/c": "a.b/c",
		strings.Repeat("ü", 251) + ".mp4": strings.Repeat("ü", 200),
	} {
		if got := video.DefaultTitle(filename); got != want {
			t.Errorf("DefaultTitle(%q) = %q, want %q", filename, got, want)
		}
	}
}

func TestTitleOf(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"": "holiday", " \t\n\u2003": "holiday", " a film ": " a film "} {
		if got := video.TitleOf(title, "holiday.mov"); got != want {
			t.Errorf("TitleOf(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestSafeFilename(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"film.mov": "film.mov", "ünï.mkv": "ünï.mkv", "../../etc/passwd": "_.._etc_passwd", ".mp4": "mp4", "": "video", "a\r\nSet-Cookie: x.mp4": "a__Set-Cookie_ x.mp4",
		"film\u202e4pm.exe": "film_4pm.exe", "no extension": "no extension", "a.b/c": "a.b_c", "film.mp4.": "film.mp4", `C:\film.avi`: "C__film.avi",
		strings.Repeat("x", 400) + ".mov": strings.Repeat("x", 240) + ".mov", "a." + strings.Repeat("y", 400): "a." + strings.Repeat("y", 11),
	} {
		if got := video.SafeFilename(name); got != want {
			t.Errorf("SafeFilename(%q) = %q, want %q", name, got, want)
		}
	}
}
