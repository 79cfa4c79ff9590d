package e2e

import (
	"testing"
)

// beginEarly begins to play a stream with hls.js, and tells what it was then.
const beginEarly = `async (library, master, speed) => {
  const Hls = (await import(library)).default;
  const video = document.createElement("video"), hls = new Hls({enableWorker: false});
  document.body.append(video);
  video.muted = true;
  const film = window.film = {video, hls, errors: [], waits: 0, waited: 0, heights: new Set()};
  hls.on(Hls.Events.ERROR, (_, e) => { if (e.fatal) film.errors.push(e.details); });
  const loaded = new Promise(done => hls.once(Hls.Events.LEVEL_LOADED, (_, e) => done(e.details)));
  film.ended = new Promise((done, failed) => { video.onended = done; video.onerror = () => failed(video.error.message); });
  hls.loadSource(master);
  hls.attachMedia(video);
  const details = await loaded;
  await video.play();
  const began = video.currentTime;
  let since;
  video.onwaiting = () => { if (!video.seeking) { film.waits++; since ??= performance.now(); } };
  video.onplaying = () => { if (since) { film.waited += performance.now() - since; since = undefined; } };
  video.onresize = () => film.heights.add(video.videoHeight);
  film.heights.add(video.videoHeight);
  video.playbackRate = speed;
  return {live: details.live, type: details.type, began, there: details.totalduration};
}`

// endEarly plays it to the end.
const endEarly = `async () => {
  const film = window.film;
  await film.ended;
  const found = {errors: film.errors, waits: film.waits, time: film.video.currentTime, frames: film.video.getVideoPlaybackQuality().totalVideoFrames};
  film.hls.destroy();
  return found;
}`

// playThrough begins to play a film whose last chunk is not there, in a real browser, has it released, and
// plays the film to its end without a reload.
func playThrough(t *testing.T, master string, release func()) {
	oneBackend(t, "the same files come from a bucket")
	findBrowser(t)
	library := hlsjs(t)
	b := openTab(t)
	type first struct {
		Live         bool
		Type         string
		Began, There float64
	}
	if got := eval[first](b, "("+beginEarly+")("+quote(library)+","+quote(master)+", 4)"); !got.Live || got.Type != "EVENT" || got.Began > 1 || !near(got.There, 56, 0.1) {
		t.Errorf("the player began with %+v; want 56 s of an event, from the beginning", got)
	}
	release()
	type last struct {
		Errors        []string
		Waits, Frames int
		Time          float64
	}
	got := eval[last](b, "("+endEarly+")()")
	if len(got.Errors) > 0 || !near(got.Time, 64, 0.2) || got.Frames < 232 {
		t.Errorf("the player ended with %+v; want 64 s", got)
	}
	t.Logf("%d frames, waited %d times", got.Frames, got.Waits)
}
