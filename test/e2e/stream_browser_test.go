package e2e

import (
	"slices"
	"testing"
)

// feed is a player as simple as one can be: it appends the segments of a stream
// to a real browser's buffers, the first from the smallest rendition and the
// others from the largest, and plays them to the end.
const feed = `async master => {
  const text = async file => (await fetch(new URL(file, master))).text();
  const bytes = async file => (await fetch(new URL(file, master))).arrayBuffer();
  const variants = [...(await text(master)).matchAll(/STREAM-INF:BANDWIDTH=(\d+).*CODECS="(.*?)",RESOLUTION.*\n(\w+\.m3u8)/g)]
    .map(([, bandwidth, codecs, file]) => ({bandwidth, codecs: codecs.split(","), file})).sort((a, b) => a.bandwidth - b.bandwidth);
  const source = new MediaSource(), video = document.createElement("video");
  document.body.append(video);
  video.muted = true;
  video.src = URL.createObjectURL(source);
  await new Promise(done => source.onsourceopen = done);

  const append = async (buffer, file) => {
    const data = await bytes(file);
    await new Promise((done, failed) => { buffer.onupdateend = done; buffer.onerror = () => failed(file); buffer.appendBuffer(data); });
  };
  const track = async file => {
    const list = await text(file);
    return {init: list.match(/MAP:URI="(.*?)"/)[1], segments: [...list.matchAll(/EXTINF.*\n(.*)/g)].map(m => m[1])};
  };
  const [codec, soundCodec] = variants[0].codecs;
  const pictures = source.addSourceBuffer('video/mp4; codecs="' + codec + '"');
  const sound = source.addSourceBuffer('audio/mp4; codecs="' + soundCodec + '"');
  const small = await track(variants[0].file), large = await track(variants.at(-1).file), audio = await track("audio.m3u8");
  for (const file of [small.init, small.segments[0], large.init, ...large.segments.slice(1)]) await append(pictures, file);
  for (const file of [audio.init, ...audio.segments]) await append(sound, file);
  const ranges = b => Array.from({length: b.buffered.length}, (_, i) => [b.buffered.start(i), b.buffered.end(i)]);
  const found = {pictures: ranges(pictures), sound: ranges(sound), segments: large.segments.length};
  source.endOfStream();
  video.playbackRate = 4;
  const ended = new Promise((done, failed) => { video.onended = done; video.onerror = () => failed(video.error.message); });
  await video.play();
  found.first = video.videoWidth;
  await ended;
  return {...found, last: video.videoWidth, time: video.currentTime, duration: video.duration};
}`

// playInBrowser plays a private stream of eight seconds in 144p and 240p, and
// changes from one to the other on the way.
func playInBrowser(t *testing.T, w watch) {
	findBrowser(t)
	b := openTab(t)
	type found struct {
		Pictures, Sound [][2]float64
		Segments        int
		First, Last     int
		Time, Duration  float64
	}
	got := eval[found](b, "("+feed+")("+quote(w.HLSURL)+")")
	if got.Segments != 2 || got.First != w.Resolutions["144p"].Width || got.Last != w.Resolutions["240p"].Width {
		t.Errorf("%d segments were shown %d pixels wide at first and %d at last", got.Segments, got.First, got.Last)
	}
	if !near(got.Time, 8, 0.1) || !near(got.Duration, 8, 0.1) {
		t.Errorf("it was played until %f of %f s, want 8", got.Time, got.Duration)
	}
	for kind, ranges := range map[string][][2]float64{"pictures": got.Pictures, "sound": got.Sound} {
		if len(ranges) != 1 || !near(ranges[0][0], 0, 0.001) || !near(ranges[0][1], 8, 0.05) {
			t.Errorf("the browser has %s for %v, want them from 0 to 8 s without a gap", kind, ranges)
		}
	}
}

// playWithHLS plays the same stream with hls.js.
func playWithHLS(t *testing.T, w watch) {
	findBrowser(t)
	got := openTab(t).watch(w.HLSURL)
	if len(got.Errors) > 0 || !near(got.Time, 8, 0.1) || got.Frames < 100 {
		t.Errorf("hls.js played %d frames until %f s, with the errors %q", got.Frames, got.Time, got.Errors)
	}
	if !slices.Equal(got.Heights, []int{144, 240}) || got.First != 240 || got.Audio != 1 || !slices.Equal(got.Targets, []int{6}) {
		t.Errorf("hls.js sees %+v", got)
	}
}
