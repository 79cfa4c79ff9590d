package playback_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// moveTo has a video look for its files in another folder.
func moveTo(b *servicetest.Rig, id video.ID, in video.Folder) {
	b.T.Helper()
	b.Must(b.Store.InTx(b.T.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(b.T.Context(), "move", `UPDATE video SET objects_in = $1 WHERE id = $2`, in, id)
		return err
	}))
}

// The names of the files of a stream say of which version of the video they are, so that no player mixes two.
func TestAStreamOfAnotherFolderHasOtherNames(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{IsPublic: true})
	id, in := up.Video.ID, video.Folder("0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e")
	putFile(b, "public/"+string(id)+"/720p.mp4", makeRendition(t))
	putFile(b, "public/"+string(in)+"/720p.mp4", makeSilentRendition(t))
	read := func(name string) string {
		t.Helper()
		o, err := b.OpenPublic(t.Context(), id, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return servicetest.ReadAll(t, o)
	}
	before := read("720p-0.m4s")
	moveTo(b, id, in)
	b.Advance(2 * time.Second) // what was known is old then
	prefix := "v1f2a3b4c5d6e."
	for _, list := range []string{"master.m3u8", prefix + "720p.m3u8", prefix + "720p-iframes.m3u8"} {
		text := read(list)
		for _, name := range regexp.MustCompile(`(?m)^[^#\s].*$|URI="[^"]*"`).FindAllString(text, -1) {
			if !strings.HasPrefix(strings.TrimPrefix(name, `URI="`), prefix) {
				t.Errorf("%s names %s", list, name)
			}
		}
	}
	if text := read("manifest.mpd"); strings.Count(text, `"`+prefix+`$RepresentationID$`) != 2 {
		t.Errorf("the manifest is\n%s", text)
	}
	if after := read(prefix + "720p-0.m4s"); after == "" || after == before {
		t.Errorf("the segment has %d bytes, the one before %d", len(after), len(before))
	}
	read("720p.mp4")
	for _, name := range []string{"720p-0.m4s", "720p.m3u8", "audio-init.mp4", "v000000000000.720p-0.m4s", "v000000000000.720p.m3u8"} {
		_, err := b.OpenPublic(t.Context(), id, name)
		servicetest.WantCode(t, err, video.NotFound, "not_found")
	}
	_, err := b.OpenPublic(t.Context(), video.ID(in), "720p.mp4") // there is no video of this name
	servicetest.WantCode(t, err, video.NotFound, "not_found")
}
