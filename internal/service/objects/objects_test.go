package objects_test

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

const id = video.ID("0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e")

// The keys of existing objects must never change: a storage outlives many versions.
func TestKeysStayAsTheyAre(t *testing.T) {
	t.Parallel()
	public, private := video.Video{ID: id, IsPublic: true}, video.Video{ID: id}
	in, replaced := video.Folder(id), video.Video{ID: id, ObjectsIn: "other"}
	for got, want := range map[string]string{
		objects.Upload(id):                        "upload/" + string(id) + "/file",
		objects.UploadRecord(id):                  "upload/" + string(id) + "/file.info",
		objects.UploadKeys(id)[2]:                 "upload/" + string(id) + "/file.part",
		objects.Source(id, "x"):                   "source/" + string(id) + "/x",
		objects.Chunk(in, "", 3, 1, "0af"):        "work/" + string(id) + "/chunk-3-1-0af.mp4",
		objects.Chunk(in, video.AV1, 3, 1, "0af"): "work/" + string(id) + "/av1-chunk-3-1-0af.mp4",
		objects.Audio(in, 2, "0af"):               "work/" + string(id) + "/audio-2-0af.mp4",
		objects.Still(in):                         "source/" + string(id) + "/still.png",
		objects.StagedRendition(in, "", 2):        "work/" + string(id) + "/film-2.mp4",
		objects.StagedThumbnail(in, 2, 0, ""):     "work/" + string(id) + "/thumbnail-2-0.jpg",
		objects.StagedThumbnail(in, 2, 0, "webp"): "work/" + string(id) + "/file-thumbnail-2-0.webp",
		objects.StagedFile(in, "poster.jpg"):      "work/" + string(id) + "/file-poster.jpg",
		objects.Playback(public, "720p.mp4"):      "public/" + string(id) + "/720p.mp4",
		objects.Playback(private, "720p-0.jpg"):   "private/" + string(id) + "/720p-0.jpg",
		objects.PlaybackKeys(public, "720p")[0]:   "public/" + string(id) + "/720p.mp4",
		objects.Playback(replaced, "720p.mp4"):    "private/other/720p.mp4",
		objects.Marker("db"):                      "owner/db",
		objects.RenditionFile("8k"):               "8k.mp4",
		objects.ThumbnailFile("144p", 11):         "144p-11.jpg",
	} {
		if got != want {
			t.Errorf("key %s; want %s", got, want)
		}
	}
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file      string
		name      video.Name
		thumbnail int
		ok        bool
	}{
		{"720p.mp4", "720p", -1, true},
		{"8k.mp4", "8k", -1, true},
		{"720p-0.jpg", "720p", 0, true},
		{"720p-11.jpg", "720p", 11, true},
		{"720p-00.jpg", "720p", 0, false},
		{"720p-1.webp", "720p", 1, true},
		{"720p-1.avif", "720p", 1, true},
		{"720p-01.avif", "720p", 0, false},
		{"720p-1.png", "", 0, false},
		{"721p.mp4", "", 0, false},
		{"720p.mp4/x", "", 0, false},
		{"../720p.mp4", "", 0, false},
		{"", "", 0, false},
	}
	for _, tt := range tests {
		f, ok := objects.ParseFile(tt.file)
		if ok != tt.ok || ok && (f != objects.File{Resolution: tt.name, Thumbnail: tt.thumbnail}) {
			t.Errorf("%q is parsed as %+v, %t; want %s, %d, %t", tt.file, f, ok, tt.name, tt.thumbnail, tt.ok)
		}
		if ok && f.IsRendition() != (tt.thumbnail < 0) {
			t.Errorf("%q is a rendition: %t", tt.file, f.IsRendition())
		}
	}
}

func TestParseListedFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"poster.jpg", "captions-zh-hant.vtt", "a1.b2", "storyboard-12.webp"} {
		f, ok := objects.ParseFile(name)
		if want := (objects.File{Listed: name}); !ok || f != want || f.IsRendition() {
			t.Errorf("%q is parsed as %+v, %t", name, f, ok)
		}
	}
	for _, name := range []string{
		"poster", ".jpg", "poster.", "Poster.jpg", "-a.jpg", "a..b", "a-.jpg", "a/b.jpg", "../a.jpg", "a%2fb.jpg", "a b.jpg", "a_b.jpg", "é.jpg", "9a.jpg",
		"a.jpg\n", "a.jpg\x00", strings.Repeat("a", 97) + ".jpg", "a" + strings.Repeat(".a", 21),
	} {
		if f, ok := objects.ParseFile(name); ok {
			t.Errorf("%q is parsed as %+v", name, f)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	area, in, rest, ok := objects.Parse(objects.Chunk(video.Folder(id), "", 0, 1, "0af"))
	if area != objects.Work || in != video.Folder(id) || rest != "chunk-0-1-0af.mp4" || !ok {
		t.Errorf("parsed as %s, %s, %s, %t", area, in, rest, ok)
	}
	if _, _, _, ok := objects.Parse("public/720p.mp4"); ok {
		t.Error("a key without a video is accepted")
	}
}

func TestFilesOfAVideo(t *testing.T) {
	t.Parallel()
	v := video.Video{ID: id, Thumbnails: []float64{1}, Resolutions: []video.Resolution{
		{Name: "720p", Status: video.Ready}, {Name: "480p", Status: video.Processing}, {Name: "240p", Status: video.Fail},
	}}
	v.Files = []video.File{{Name: "poster.jpg"}, {Name: video.VariantFile(video.AV1, "720p"), Kind: video.VariantKind}}
	for file, want := range map[string]struct{ pending, kept bool }{
		"poster.jpg": {false, true},
		"poster.png": {false, false},
		"720p.mp4":   {false, true},
		"720p-0.jpg": {false, true},
		"720p-1.jpg": {false, false},
		"480p.mp4":   {true, true},
		"480p-0.jpg": {true, true},
		"480p-1.jpg": {false, false},
		"240p.mp4":   {false, false},
		"144p.mp4":   {false, false},

		"av1-720p.mp4": {false, true},
		"av1-480p.mp4": {false, false}, // not listed
	} {
		f, ok := objects.ParseFile(file)
		if !ok || f.Pending(v) != want.pending || f.Kept(v) != want.kept {
			t.Errorf("%s: pending %t, kept %t; want %+v", file, f.Pending(v), f.Kept(v), want)
		}
	}
}
