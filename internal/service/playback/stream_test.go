package playback_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// makeRendition has ffmpeg make a small rendition with its tables first.
func makeRendition(t *testing.T) []byte {
	return runFFmpeg(t, "-f lavfi -i testsrc2=s=64x36:r=25:d=5 -f lavfi -i sine=r=48000:d=5 -c:a aac")
}

func makeSilentRendition(t *testing.T) []byte {
	return runFFmpeg(t, "-f lavfi -i testsrc2=s=32x18:r=25:d=5")
}

func runFFmpeg(t *testing.T, args string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.mp4")
	args = "-v error " + args + " -c:v libx264 -preset ultrafast -g 50 -pix_fmt yuv420p -movflags +faststart"
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", append(strings.Fields(args), path)...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	rendition, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return rendition
}

func putFile(b *servicetest.Rig, key string, rendition []byte) {
	b.T.Helper()
	if _, err := b.Blobs.Put(b.T.Context(), key, bytes.NewReader(rendition)); err != nil {
		b.T.Fatal(err)
	}
}

func TestAStreamExistsAsLongAsItsRendition(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	rendition := makeRendition(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	key := "public/" + string(id) + "/720p.mp4"
	names := []string{"master.m3u8", "manifest.mpd", "720p.m3u8", "720p-init.mp4", "720p-0.m4s", "720p-1.m4s", "720p-iframes.m3u8", "720p-iframes-1.m4s", "audio.m3u8", "audio-init.mp4", "audio-0.m4s"}
	for range 2 { // the second time, its index is known
		for _, name := range names {
			_, err := b.OpenPublic(t.Context(), id, name)
			servicetest.WantCode(t, err, video.NotFound, "not_ready")
		}
		putFile(b, key, rendition)
		for _, name := range names {
			o, err := b.OpenPublic(t.Context(), id, name)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text := servicetest.ReadAll(t, o); int64(len(text)) != o.Info().Size || text == "" || o.Info().ETag == "" {
				t.Errorf("%s has %d bytes, and says %+v", name, len(text), o.Info())
			}
		}
		for _, name := range []string{"720p-2.m4s", "720p-iframes-2.m4s", "audio-2.m4s", "999p.m3u8", "999p-0.m4s", "720p-00.m4s"} {
			_, err := b.OpenPublic(t.Context(), id, name)
			servicetest.WantCode(t, err, video.NotFound, "not_found")
		}
		if err := b.Blobs.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.DeleteVideo(t.Context(), b.By, id); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, err := b.OpenPublic(t.Context(), id, name)
		servicetest.WantCode(t, err, video.NotFound, "not_found")
	}
}

func TestAReplacedRenditionHasAnotherStream(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	rendition := makeRendition(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	key := "public/" + string(id) + "/720p.mp4"
	open := func() (text, etag string) {
		t.Helper()
		o, err := b.OpenPublic(t.Context(), id, "720p-0.m4s")
		if err != nil {
			t.Fatal(err)
		}
		return servicetest.ReadAll(t, o), o.Info().ETag
	}
	putFile(b, key, rendition)
	first, etag := open()
	second := bytes.Clone(rendition)
	second[len(second)-1]++ // in the last segment
	putFile(b, key, second)
	if again, other := open(); again != first || other == etag {
		t.Errorf("the segment of another rendition has the ETag %s, that of the first %s", other, etag)
	}
}

// Caches hold the playlists of H.264 when a file in another codec is published, whose keyframes may be
// far apart.
func TestAVariantWithLongSegmentsChangesNoPlaylist(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	folder := "public/" + string(id) + "/"
	read := func(file string) string {
		t.Helper()
		o, err := b.OpenPublic(t.Context(), id, file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return servicetest.ReadAll(t, o)
	}
	putFile(b, folder+"720p.mp4", makeRendition(t))
	lists := []string{"720p.m3u8", "720p-iframes.m3u8", "audio.m3u8", "master.m3u8", "manifest.mpd"}
	before := map[string]string{}
	for _, file := range lists {
		before[file] = read(file)
	}
	putFile(b, folder+"av1-720p.mp4", runFFmpeg(t, "-f lavfi -i testsrc2=s=32x18:r=2:d=12")) // the codec does not matter
	for _, file := range lists {
		if now := read(file); now != before[file] {
			t.Errorf("%s has changed to\n%s", file, now)
		}
	}
	if text := read("av1-720p.m3u8"); !strings.Contains(text, "#EXT-X-TARGETDURATION:12\n") {
		t.Errorf("its own playlist has a target duration that is too short:\n%s", text)
	}
}

func TestADamagedRenditionIsAnInternalError(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	rendition := makeRendition(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	for _, broken := range [][]byte{nil, rendition[:20], rendition[:2000], bytes.Repeat([]byte("moov"), 1000)} {
		putFile(b, "public/"+string(id)+"/720p.mp4", broken)
		for _, name := range []string{"master.m3u8", "720p.m3u8", "720p-init.mp4", "720p-0.m4s", "audio-0.m4s"} {
			if _, err := b.OpenPublic(t.Context(), id, name); video.KindOf(err) != video.Internal {
				t.Errorf("%s of a rendition of %d bytes: %v; want an internal error", name, len(broken), err)
			}
		}
	}
}

func TestOneSignatureOpensTheStreamAndNothingElse(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	rendition := makeRendition(t)
	v, other := b.Create(video.Draft{}).Video, b.Create(video.Draft{}).Video
	for _, id := range []video.ID{v.ID, other.ID} {
		putFile(b, "private/"+string(id)+"/720p.mp4", rendition)
	}
	w, err := b.Catalog.Private(t.Context(), b.By, v.ID, time.Hour, servicetest.Base)
	if err != nil {
		t.Fatal(err)
	}
	token := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(u.Path, "/")[2]
	}
	stream, single := token(w.URLs.HLS), token(w.URLs.Resolutions["720p"].Rendition)
	files := []string{"master.m3u8", "manifest.mpd", "720p.m3u8", "720p-init.mp4", "720p-0.m4s", "audio.m3u8", "audio-0.m4s"}
	for _, file := range files {
		o, err := b.OpenSigned(t.Context(), stream, v.ID, file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if _, err := io.Copy(io.Discard, o); err != nil || errors.Is(o.Close(), os.ErrClosed) {
			t.Errorf("%s: %v", file, err)
		}
		for name, open := range map[string]func() error{
			"with the rendition's signature": func() error { _, err := b.OpenSigned(t.Context(), single, v.ID, file); return err },
			"of another video":               func() error { _, err := b.OpenSigned(t.Context(), stream, other.ID, file); return err },
		} {
			if err := open(); video.KindOf(err) != video.Forbidden {
				t.Errorf("%s %s: %v; want it to be refused", file, name, err)
			}
		}
		_, err = b.OpenPublic(t.Context(), v.ID, file)
		servicetest.WantCode(t, err, video.NotFound, "not_found")
	}
	for _, file := range []string{"720p.mp4", "720p-0.jpg", "*", "720p-00.m4s", "../" + string(other.ID) + "/720p.m3u8"} {
		_, err := b.OpenSigned(t.Context(), stream, v.ID, file)
		servicetest.WantCode(t, err, video.Forbidden, "url_invalid")
	}
	b.Advance(time.Hour)
	_, err = b.OpenSigned(t.Context(), stream, v.ID, "720p-0.m4s")
	servicetest.WantCode(t, err, video.Forbidden, "url_expired")
}

// The audio of one pass may be damaged by bad luck, and that of another not.
func TestOneSilentRenditionDoesNotMakeTheStreamSilent(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	folder := "public/" + string(id) + "/"
	putFile(b, folder+"240p.mp4", makeSilentRendition(t))
	putFile(b, folder+"720p.mp4", makeRendition(t))
	for range 2 { // the second time, both indexes are known
		for _, name := range []string{"audio.m3u8", "audio-init.mp4", "audio-0.m4s", "240p-0.m4s"} {
			o, err := b.OpenPublic(t.Context(), id, name)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b.Must(o.Close())
		}
		o, err := b.OpenPublic(t.Context(), id, "master.m3u8")
		b.Must(err)
		if text := servicetest.ReadAll(t, o); !strings.Contains(text, `URI="audio.m3u8"`) {
			t.Errorf("the list has no audio:\n%s", text)
		}
	}
}

// muteStore opens renditions, and is silent when they are read.
type muteStore struct{ *disk.Store }

func (m muteStore) Open(ctx context.Context, key string) (blob.Object, error) {
	o, err := m.Store.Open(ctx, key)
	return muteObject{o, ctx}, err
}

type muteObject struct {
	blob.Object
	ctx context.Context
}

func (m muteObject) ReadAt([]byte, int64) (int, error) {
	<-m.ctx.Done()
	return 0, context.Cause(m.ctx)
}

// All who wait are told that the storage is to blame, also those who wait for the
// index that somebody else is reading.
func TestASilentStorageIsUnavailableToAll(t *testing.T) {
	t.Parallel()
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { return muteStore{s} })
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	putFile(b, "public/"+string(id)+"/720p.mp4", servicetest.LikeVideo)
	var asking sync.WaitGroup
	for _, name := range []string{"master.m3u8", "manifest.mpd", "720p.m3u8", "720p-init.mp4", "720p-0.m4s", "audio.m3u8", "audio-0.m4s"} {
		asking.Go(func() {
			if _, err := b.OpenPublic(t.Context(), id, name); servicetest.CodeOf(err) != "storage_unavailable" {
				t.Errorf("%s: %v; want storage_unavailable", name, err)
			}
		})
	}
	asking.Wait()
}

// lateStore shows nothing to the first who looks: the file is published right after that.
type lateStore struct {
	*disk.Store
	seen atomic.Bool
}

func (l *lateStore) Open(ctx context.Context, key string) (blob.Object, error) {
	if !l.seen.Swap(true) {
		return nil, fs.ErrNotExist
	}
	return l.Store.Open(ctx, key)
}

func (l *lateStore) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	if !l.seen.Swap(true) {
		return func(func(blob.Info, error) bool) {}
	}
	return l.Store.List(ctx, prefix)
}

// A film whose last rendition is published between the look for its file and the question whether it
// is still being made is neither: its file is looked for again.
func TestAStreamThatIsPublishedMeanwhile(t *testing.T) {
	t.Parallel()
	late := &lateStore{}
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { late.Store = s; return late })
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	putFile(b, "public/"+string(id)+"/720p.mp4", makeRendition(t))
	for _, name := range []string{"master.m3u8", "manifest.mpd", "audio.m3u8", "720p.m3u8", "720p-init.mp4", "720p-0.m4s"} {
		late.seen.Store(false)
		o, err := b.OpenPublic(t.Context(), id, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b.Must(o.Close())
	}
}
