package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A video in several codecs is ready with its H.264. The others follow, with the same frames and the same audio,
// players that know one play it, and they go with their resolution.
func TestOtherCodecsBesideH264(t *testing.T) {
	usuallyOneBackend(t, "the failpoint variant-linked has AV1 made there, and wants it to be right")
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "all.mp4", Resolutions: []string{"240p", "144p"}, IsPublic: true, Codecs: []string{"av1", "hevc", "av1"}})
	before := s.read(u).Resolutions["144p"].Variants
	if len(before) != len(allCodecs) || before[1].Status != "pending_upload" {
		t.Fatalf("before the upload, the variants are %+v", before)
	}
	s.get(before[1].VideoURL).problem(t, http.StatusNotFound, "not_ready")
	s.put(u, clip(t, tinyClip))
	s.complete(u.ID)
	s.waitReady(u)
	w := s.wantVariants(u, tinyFrames, allCodecs)
	checkPlaylists(t, s, w)
	t.Run("browser", func(t *testing.T) { playCodecs(t, w) })

	gone := w.Resolutions["240p"]
	s.deleteResolution(gone.ID)
	for _, v := range gone.Variants[1:] {
		s.get(v.VideoURL).problem(t, http.StatusNotFound, "not_found")
	}
	if master := string(s.fetch(w.HLSURL)); strings.Contains(master, "-240p") || !strings.Contains(master, "av1-144p") || !strings.Contains(master, "hevc-144p") {
		t.Errorf("after the deletion of 240p, the playlist is\n%s", master)
	}
	s.deleteVideo(u.ID)
	s.get(w.Resolutions["144p"].Variants[1].VideoURL).problem(t, http.StatusNotFound, "not_found")
}

// HDR is kept in HEVC on wish. Players on ordinary screens are told to take H.264.
func TestHDRBesideH264(t *testing.T) {
	oneBackend(t, "TestOtherCodecsBesideH264 looks at the back ends")
	t.Parallel()
	s := shared(t)
	draft := newVideo{Filename: "hdr.mp4", Resolutions: []string{"144p"}, IsPublic: true, HDR: "keep"}
	s.call("POST", "/api/video", draft).problem(t, http.StatusBadRequest, "invalid_request")
	draft.Codecs = []string{"hevc"}
	u := s.submit(draft, clip(t, hdrClip))
	s.waitReady(u)
	var r resolution
	s.until("HEVC is there", readyTimeout, func() bool {
		r = s.read(u).Resolutions["144p"]
		return len(r.Variants) == 2 && r.Variants[1].Status != "processing"
	})
	if r.Variants[0].Range != "sdr" || r.Variants[1].Range != "pq" {
		t.Fatalf("the variants are %+v", r.Variants)
	}
	if made := s.look(r.Variants[1].VideoURL); made.codec != "hevc" || made.pixels != "yuv420p10le" {
		t.Errorf("HEVC is %+v; want ten bits", made)
	}
	master := string(s.fetch(s.read(u).HLSURL))
	if !strings.Contains(master, "VIDEO-RANGE=PQ") || !strings.Contains(master, "VIDEO-RANGE=SDR") {
		t.Errorf("the playlist is\n%s", master)
	}
}

// allCodecs are what a video can be made in, in the order of its variants.
var allCodecs = []string{"h264", "av1", "hevc"}

// wantVariants waits until a video is there in some codecs, at every resolution, and compares them with H.264, which is
// the first.
func (s *server) wantVariants(u upload, frames int, codecs []string) watch {
	s.t.Helper()
	var w watch
	s.until("all codecs are there", readyTimeout, func() bool {
		w = s.read(u)
		for _, r := range w.Resolutions {
			if len(r.Variants) != len(codecs) || slices.ContainsFunc(r.Variants, func(v codecVariant) bool { return v.Status == "processing" }) {
				return false
			}
		}
		return true
	})
	for name, r := range w.Resolutions {
		h264 := r.Variants[0]
		if h264.VideoURL != r.VideoURL || h264.SizeBytes != r.SizeBytes {
			s.t.Fatalf("the variants of %s are %+v", name, r.Variants)
		}
		a := s.look(h264.VideoURL)
		for i, v := range r.Variants {
			if v.Codec != codecs[i] || v.Status != "ready" || v.SizeBytes == 0 || v.Bitrate == 0 {
				s.t.Fatalf("the variants of %s are %+v", name, r.Variants)
			}
			b := s.look(v.VideoURL)
			if b.codec != v.Codec || b.frames != frames || !slices.Equal(a.times, b.times) || !slices.Equal(a.audio, b.audio) {
				s.t.Errorf("%s is %d frames of %s, and %d frames of %s with other times or audio", name, a.frames, a.codec, b.frames, b.codec)
			}
			if b.pixels != "yuv420p" || b.size != a.size {
				s.t.Errorf("%s in %s is %s of %s; want yuv420p of %s", name, v.Codec, b.pixels, b.size, a.size)
			}
		}
	}
	return w
}

// lookedAt is what ffprobe says of a file.
type lookedAt struct {
	codec, pixels, size string
	frames              int
	times, audio        []string
}

// look asks ffprobe about a published file.
func (s *server) look(url string) lookedAt {
	s.t.Helper()
	path := s.download(url)
	ask := func(what string, entries string) []string {
		text, err := output("ffprobe", "-v", "error", "-select_streams", what, "-show_entries", entries, "-of", "csv=p=0", path)
		if err != nil {
			s.t.Fatal(err)
		}
		return strings.Fields(text)
	}
	var f lookedAt
	about := strings.Split(ask("v", "stream=codec_name,width,height,pix_fmt")[0], ",")
	f.codec, f.size, f.pixels = about[0], about[1]+" × "+about[2], about[3]
	f.times = slices.Sorted(slices.Values(ask("v", "packet=pts")))
	f.frames, f.audio = len(f.times), ask("a", "packet=pts,size")
	return f
}

// checkPlaylists checks that both kinds of players find all codecs, H.264 first.
func checkPlaylists(t testing.TB, s *server, w watch) {
	t.Helper()
	master := string(s.fetch(w.HLSURL))
	h264, hevc, av1 := strings.Index(master, "\n240p.m3u8"), strings.Index(master, "\nhevc-240p.m3u8"), strings.Index(master, "\nav1-240p.m3u8")
	if h264 < 0 || hevc < h264 || av1 < hevc || !strings.Contains(master, `CODECS="av01.0.`) || !strings.Contains(master, `CODECS="hvc1.1.`) || !strings.Contains(master, "av1-144p-iframes.m3u8") {
		t.Errorf("the playlist is\n%s", master)
	}
	manifest := string(s.fetch(w.DASHURL))
	if strings.Count(manifest, "<AdaptationSet") != 4 || !strings.Contains(manifest, `<Representation id="av1-144p"`) {
		t.Errorf("the manifest is\n%s", manifest)
	}
}

// withoutAV1 makes a browser one that cannot decode AV1.
const withoutAV1 = `(() => {
  const asked = MediaSource.isTypeSupported.bind(MediaSource);
  MediaSource.isTypeSupported = type => !/av01/.test(type) && asked(type);
  if (window.ManagedMediaSource) ManagedMediaSource.isTypeSupported = MediaSource.isTypeSupported;
  return MediaSource.isTypeSupported('video/mp4; codecs="avc1.64001f"');
})()`

// playCodecs plays a video with hls.js in a browser that knows AV1, and in one that does not. Neither
// changes the codec on its way.
func playCodecs(t *testing.T, w watch) {
	findBrowser(t)
	for name, want := range map[string]string{"knows AV1": "av01", "knows H.264": "avc1"} {
		b := openTab(t)
		if want == "avc1" && !eval[bool](b, withoutAV1) {
			t.Fatal("the browser plays no H.264")
		}
		got := b.watch(w.HLSURL)
		if len(got.Errors) > 0 || !near(got.Time, 2, 0.1) || got.Frames < tinyFrames*9/10 {
			t.Errorf("%s: hls.js played %d frames until %f s, with the errors %q", name, got.Frames, got.Time, got.Errors)
		}
		if slices.ContainsFunc(got.Played, func(codec string) bool { return !strings.HasPrefix(codec, want) }) || len(got.Played) == 0 {
			t.Errorf("%s: hls.js played %q of %q", name, got.Played, got.Codecs)
		}
	}
}
