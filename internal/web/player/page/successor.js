// More renditions for a player that plays. hls.js reads the list of renditions once, so a second instance
// reads the new list, and takes over media element and buffers when it has the segment that the viewer sees
// some seconds later. All before that segment stays, so playback does not stop.

const ahead = 12; // seconds until the first segment that is taken over is shown
const untouched = 6; // seconds behind the playhead that are never removed
const patience = 30_000; // milliseconds until a segment must be there

// takeoverPoint is the position from which on a media element should get what another instance loads.
export function takeoverPoint(media) {
  return Math.min(media.currentTime + ahead * Math.max(1, media.playbackRate), bufferedEnd(media));
}

// prepare has hls load the segment at a position, in seconds. It resolves to that segment, or to null if
// there is a problem, or no such segment.
export function prepare(Hls, hls, url, from, height) {
  Object.assign(hls.config, { autoStartLoad: false, startFragPrefetch: true, pLoader: loaderThatStarts(Hls, from) });
  hls.streamController.seekToStartPos = () => {}; // not part of its interface: it would move the viewer to from
  let first = null;
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(null), patience);
    const done = (segment) => { clearTimeout(timer); resolve(segment); };
    hls.on(Hls.Events.MANIFEST_PARSED, () => {
      const chosen = hls.levels.findIndex((level) => level.height === height);
      if (chosen >= 0) {
        hls.config.capLevelToPlayerSize = false;
        hls.loadLevel = chosen;
      }
      hls.startLoad(from, true);
    });
    hls.on(Hls.Events.FRAG_LOADED, (_, { frag }) => { if (frag.type === "main" && frag.sn !== "initSegment") first ??= frag; });
    hls.on(Hls.Events.BUFFER_CODECS, (_, { tracks }) => { if (tracks && first) done(first); }); // the codecs of all tracks are known
    hls.on(Hls.Events.ERROR, (_, { fatal }) => { if (fatal) done(null); });
    hls.on(Hls.Events.DESTROYING, () => done(null));
    hls.loadSource(url);
  });
}

// loaderThatStarts makes a loader of playlists. Where to start without a seek, hls.js learns only from the
// list of renditions itself.
function loaderThatStarts(Hls, from) {
  return class extends Hls.DefaultConfig.loader {
    load(context, config, callbacks) {
      if (context.type !== "manifest") return super.load(context, config, callbacks);
      super.load(context, config, { ...callbacks, onSuccess(response, ...rest) {
        response.data = response.data.replace(/^#EXTM3U\r?\n/, `$&#EXT-X-START:TIME-OFFSET=${from}\n`);
        callbacks.onSuccess(response, ...rest);
      } });
    }
  };
}

// handOver gives the media element of one instance, as it is, to another. If the segment that the other one
// has loaded is larger than the picture, what is buffered behind it is replaced, too: that can be minutes.
export function handOver(Hls, from, to, media, segment) {
  const tracks = [...media.querySelectorAll("track")]; // the other instance makes its own
  const data = from.transferMedia();
  for (const track of tracks) track.remove();
  to.attachMedia(data ?? media);
  from.destroy();
  const larger = to.levels[segment.level]?.height > media.videoHeight, now = media.currentTime;
  if (!larger || now > segment.start) return; // somebody seeked, or it took too long: what is there is being shown
  const startOffset = Math.max(segment.end, now + untouched);
  if (bufferedEnd(media) > startOffset) to.trigger(Hls.Events.BUFFER_FLUSHING, { startOffset, endOffset: Infinity, type: "video" });
}

// bufferedEnd is how far a media element can play without loading more, in seconds.
function bufferedEnd(media) {
  for (let i = 0; i < media.buffered.length; i++) {
    if (media.buffered.start(i) <= media.currentTime + 0.1 && media.buffered.end(i) > media.currentTime) return media.buffered.end(i);
  }
  return media.currentTime;
}

// showCaptions has hls show the captions that a media element shows by another instance.
export function showCaptions(hls, media) {
  const shown = [...media.textTracks].find((t) => t.mode === "showing" && (t.kind === "subtitles" || t.kind === "captions"));
  hls.setSubtitleOption(shown && { lang: shown.language, name: shown.label });
  if (!shown) hls.subtitleTrack = -1;
}
