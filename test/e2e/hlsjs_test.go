package e2e

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"os"
	"testing"
)

// hlsjs is the library that the player's page plays with, as an address to import it from.
func hlsjs(t testing.TB) string {
	t.Helper()
	f, err := os.Open("../../internal/web/player/thirdparty/hls.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return "data:text/javascript;base64," + base64.StdEncoding.EncodeToString(text)
}

// watchWithHLS plays a stream to its end, and tells what hls.js made of it. Of one with
// subtitles it looks at the first second before.
const watchWithHLS = `async (library, master) => {
  const Hls = (await import(library)).default;
  const video = document.createElement("video"), hls = new Hls({enableWorker: false});
  document.body.append(video);
  video.muted = true;
  const found = {errors: [], targets: [], cues: []}, targets = new Set();
  hls.on(Hls.Events.ERROR, (_, e) => { // a busy machine may be slow, and hls.js gives up the text that it loads when we seek
    const ours = e.details == "aborted" && e.frag?.type == "subtitle";
    if (e.fatal || !ours && !/stall|nudge|timeout/i.test(e.details)) found.errors.push(e.details + (e.fatal ? ", fatal" : ""));
  });
  for (const event of [Hls.Events.LEVEL_LOADED, Hls.Events.AUDIO_TRACK_LOADED, Hls.Events.SUBTITLE_TRACK_LOADED])
    hls.on(event, (_, e) => targets.add(e.details.targetduration));
  const parsed = new Promise(done => hls.on(Hls.Events.MANIFEST_PARSED, (_, m) => done(m)));
  hls.loadSource(master);
  hls.attachMedia(video);
  const m = await parsed;
  found.codecs = [...new Set(m.levels.map(l => l.videoCodec))];
  const played = new Set();
  hls.on(Hls.Events.FRAG_BUFFERED, (_, e) => { if (e.frag.type == "main") played.add(hls.levels[e.frag.level].videoCodec); });
  found.heights = m.levels.map(l => l.height);
  found.first = m.levels[m.firstLevel].height;
  found.audio = m.audioTracks.length;
  found.subtitles = m.subtitleTracks.map(s => s.lang + " " + s.name);
  if (found.subtitles.length) {
    hls.subtitleTrack = 0;
    hls.subtitleDisplay = true;
    video.currentTime = 1; // it is not played yet, so no text can be missed
    const active = () => [...video.textTracks].flatMap(t => [...(t.activeCues || [])]).map(c => c.text);
    for (let tries = 0; tries < 600 && active().length == 0; tries++) await new Promise(done => setTimeout(done, 100));
    found.cues = active();
  }
  video.playbackRate = 4;
  const ended = new Promise((done, failed) => { video.onended = done; video.onerror = () => failed(video.error.message); });
  await video.play();
  await ended;
  found.frames = video.getVideoPlaybackQuality().totalVideoFrames;
  found.time = video.currentTime;
  found.targets = [...targets];
  found.played = [...played];
  hls.destroy();
  return found;
}`

// watched is what watchWithHLS returns.
type watched struct {
	Errors    []string
	Heights   []int // of the levels
	First     int   // the height of the one that it begins with
	Audio     int   // tracks
	Subtitles []string
	Cues      []string // that are shown in the first second
	Targets   []int    // the target durations of all playlists
	Codecs    []string // of the levels
	Played    []string // codecs
	Frames    int
	Time      float64
}

func (b *tab) watch(master string) watched {
	b.t.Helper()
	return eval[watched](b, "("+watchWithHLS+")("+quote(hlsjs(b.t))+","+quote(master)+")")
}
