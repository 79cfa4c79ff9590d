// What is played: HLS by hls.js, HLS by the browser, or an MP4 file.

import { Renditions } from "./renditions.js";
import { handOver, prepare, showCaptions, takeoverPoint } from "./successor.js";

const eagerSeconds = 8; // loaded before anybody presses play
const recoveryPause = 5000; // milliseconds within which a second decoding error is final
const refreshPause = 10_000, refreshTries = 6; // milliseconds before the second of so many tries; the pause doubles

// problems are what a viewer reads, whether to try the same again may help, and whether other addresses would.
const problems = {
  gone: ["This video is not here any more.", false],
  expired: ["The link to this video has expired. Reload the page for a new one.", false, true],
  network: ["The connection to the server is interrupted.", true],
  undecodable: ["This browser cannot play this video.", false],
};

export class Source {
  complete = false; // everything that will ever be there is there
  #media;
  #options;
  #hls = null;
  #next = null; // reads a longer list of renditions, to take over
  #late = false; // there are more renditions, but too near to the end
  #listed = new WeakMap(); // what the list had that an instance of hls.js read
  #refreshing = false;
  #again = false; // the list may be another one since it was read
  #failures = 0; // to take up renditions, without a success in between
  #retry; // the timer of the next try
  #loading = null; // "hls", "native" or "mp4"
  #recovered = -Infinity;
  #reloaded = false; // the file was replaced while it played, and is loaded again
  #begun = false; // somebody pressed play
  #sound = null; // the name of the sound track that somebody chose
  #onError = () => this.#mediaFailed();
  #onLoaded = () => this.#goToStart();
  #onTrack = () => this.#chooseCaptions();
  #onSeeked = () => { if (this.#late) this.refresh(); };

  constructor(media, options) {
    this.#media = media;
    this.#options = options;
    media.addEventListener("error", this.#onError);
    media.addEventListener("loadedmetadata", this.#onLoaded);
    media.addEventListener("seeked", this.#onSeeked);
    media.textTracks.addEventListener("addtrack", this.#onTrack);
    media.videoRenditions ??= new Renditions();
    media.videoRenditions.onchoose = (level) => this.#chooseLevel(level);
    options.sounds.onchoose = (n) => this.#chooseSound(n);
  }

  // load loads the beginning, and with all as much as a player buffers.
  load(all) {
    if (all && !this.#begun) {
      this.#begun = true;
      if (this.#hls) this.#hls.config.maxBufferLength = bufferLength(true);
    }
    if (this.#loading) return;
    if (!this.#options.hls && this.#options.expected()) return;
    if (!this.#options.hls) return this.#loadFile();
    if (prefersNative(this.#media)) {
      this.#loading = "native";
      return this.#setSource(this.#options.hls);
    }
    this.#loading = "hls";
    this.#loadHLS();
  }

  // renew takes another address of the same stream, whose signature is valid for longer. It reports false if it is
  // another stream, or playback has failed.
  renew(hls) {
    if (withoutSignature(hls) !== withoutSignature(this.#options.hls ?? "")) return false;
    if (this.#loading === "hls" ? !this.#hls : this.#media.error) return false;
    this.#options.hls = hls;
    return true;
  }

  // frameRate is how many pictures a second the quality has that is played; 30 where that is not known.
  get frameRate() {
    const level = this.#hls?.levels[this.#hls.currentLevel];
    return level?.frameRate || 30;
  }

  close() {
    this.#media.removeEventListener("error", this.#onError);
    this.#media.removeEventListener("loadedmetadata", this.#onLoaded);
    this.#media.removeEventListener("seeked", this.#onSeeked);
    this.#media.textTracks.removeEventListener("addtrack", this.#onTrack);
    this.#media.videoRenditions.set([]);
    this.#options.sounds.show([]);
    clearTimeout(this.#retry);
    this.#next?.destroy();
    this.#hls?.destroy();
    this.#next = this.#hls = null;
    this.#loading = "closed";
    this.#media.removeAttribute("src");
    this.#media.load(); // ends the download
  }

  // refresh looks for resolutions that were added after the playlist was loaded, and for other captions, and
  // takes them up without an interruption. What is added meanwhile comes afterwards.
  async refresh() {
    clearTimeout(this.#retry);
    this.#again = true;
    if (this.#refreshing) return;
    this.#refreshing = true;
    let done = true;
    while (done && this.#again && this.#hls?.levels.length > 0) {
      this.#again = false;
      done = await this.#takeUp(this.#hls).catch(() => false);
    }
    this.#refreshing = false;
    if (done) this.#failures = 0;
    else if (++this.#failures < refreshTries) this.#retry = setTimeout(() => this.refresh(), refreshPause * 2 ** (this.#failures - 1));
  }

  // takeUp has another instance of hls.js take over if there are more renditions, or other captions. It
  // resolves to false if that did not work; then what is there goes on playing.
  async #takeUp(hls) {
    const { more, captions } = await this.#compare(hls);
    if ((!more && !captions) || hls !== this.#hls) return true;
    const { default: Hls } = await import("./hls.js");
    const media = this.#media, last = this.complete ? Math.max(0, media.duration - 1) : Infinity;
    const from = Math.min(takeoverPoint(media), last);
    this.#late = from === last && !captions; // a better picture is not worth it, unless somebody seeks
    if (this.#late || hls !== this.#hls) return true;
    const next = this.#next = this.#make(Hls, { abrEwmaDefaultEstimate: hls.bandwidthEstimate });
    const chosen = media.videoRenditions.selected?.height;
    showCaptions(next, media);
    const first = await prepare(Hls, next, this.#options.hls, from, chosen);
    if (this.#next !== next) return true; // closed meanwhile
    this.#next = null;
    const changed = media.videoRenditions.selected?.height !== chosen;
    if (!first || changed || hls !== this.#hls) {
      next.destroy();
      this.#again ||= changed; // what is loaded is not what somebody has chosen meanwhile
      return changed || hls !== this.#hls;
    }
    next.config.maxBufferLength = bufferLength(this.#begun);
    showCaptions(next, media); // somebody may have chosen others meanwhile
    this.#hls = next;
    this.#listen(Hls, next);
    handOver(Hls, hls, next, media, first);
    this.#listLevels();
    this.#listSounds();
    return true;
  }

  // compare reports whether the list of renditions has become longer, and whether it names other captions.
  // Renditions that this browser cannot play count, too.
  async #compare(hls) {
    const response = await fetch(this.#options.hls, { cache: "no-cache" });
    if (!response.ok) throw new Error(`the list of renditions answers ${response.status}`);
    const lines = (await response.text()).split(/\r?\n/), had = this.#listed.get(hls);
    const urls = lines.filter((line) => line && !line.startsWith("#")).map((line) => withoutSignature(new URL(line, response.url).href));
    if (!had.urls.some((url) => urls.includes(url))) return { more: false, captions: false }; // of another file, which has replaced this one
    const captions = lines.filter((line) => line.startsWith("#EXT-X-MEDIA:") && line.includes("TYPE=SUBTITLES")).map((line) => /,URI="([^"]*)"/.exec(line)?.[1]);
    return { more: lines.filter((line) => line.startsWith("#EXT-X-STREAM-INF:")).length > had.levels, captions: captions.join() !== had.captions };
  }

  async #loadHLS() {
    const { default: Hls } = await import("./hls.js");
    if (this.#loading !== "hls") return;
    if (!Hls.isSupported()) return this.#loadFile();
    const hls = this.#hls = this.#make(Hls, {
      startPosition: this.#options.start, // of a growing playlist it would take the end
      subtitlePreference: this.#options.captions ? { lang: this.#options.captions } : undefined,
    });
    hls.on(Hls.Events.MANIFEST_PARSED, () => {
      if (this.#hls !== hls) return;
      this.#listLevels();
      this.#options.onSound(hls.audioTracks.length > 0 || hls.levels.some((level) => level.audioCodec));
      if (this.#again) this.refresh();
    });
    this.#listen(Hls, hls);
    this.#keepPlaying(() => hls.attachMedia(this.#media));
    hls.loadSource(this.#options.hls);
  }

  #make(Hls, more) {
    const hls = new Hls({
      enableWorker: false, // fragmented MP4 needs no conversion
      capLevelToPlayerSize: true,
      testBandwidth: false, // begin with what most connections carry, not with the smallest picture
      abrEwmaDefaultEstimate: 4_000_000, // bits per second
      maxBufferLength: bufferLength(this.#begun),
      audioPreference: this.#sound ? { name: this.#sound } : undefined,
      backBufferLength: 60,
      xhrSetup: (xhr, url) => xhr.open("GET", withSignatureOf(this.#options.hls, url), true),
      ...more,
    });
    hls.on(Hls.Events.MANIFEST_LOADED, (_, { levels, subtitles }) => {
      this.#listed.set(hls, { levels: levels.length, urls: levels.map((level) => withoutSignature(level.url)), captions: (subtitles ?? []).map((track) => track.attrs.URI).join() });
    });
    return hls;
  }

  #listen(Hls, hls) {
    hls.on(Hls.Events.LEVEL_UPDATED, (_, { details }) => {
      this.complete = !details.live;
      this.#options.onLive(details.live);
    });
    for (const event of [Hls.Events.AUDIO_TRACKS_UPDATED, Hls.Events.AUDIO_TRACK_SWITCHING]) hls.on(event, () => { if (this.#hls === hls) this.#listSounds(); });
    hls.on(Hls.Events.ERROR, (_, error) => { if (error.fatal && this.#hls === hls) this.#hlsFailed(Hls, error); });
  }

  #listLevels() {
    this.#media.videoRenditions.set(this.#hls.levels.filter((level) => level.height > 0).map((level, i) => (
      { id: String(i), width: level.width, height: level.height, bitrate: level.bitrate, level: this.#hls.levels.indexOf(level) }
    )));
  }

  // chooseLevel takes effect with the next segment; -1 lets the bandwidth decide.
  #chooseLevel(level) {
    if (!this.#hls) return;
    this.#hls.config.capLevelToPlayerSize = level < 0;
    this.#hls.nextLevel = level;
  }

  #listSounds() {
    if (this.#hls) return this.#options.sounds.show(this.#hls.audioTracks.map((track) => track.name), this.#hls.audioTrack);
    const tracks = [...(this.#media.audioTracks ?? [])]; // only Safari has them
    this.#options.sounds.show(tracks.map((track) => track.label), tracks.findIndex((track) => track.enabled));
  }

  // chooseSound plays another sound track from here on.
  #chooseSound(n) {
    if (this.#hls) {
      this.#sound = this.#hls.audioTracks[n]?.name ?? null;
      this.#hls.audioTrack = n;
    } else if (this.#media.audioTracks?.[n]) {
      this.#media.audioTracks[n].enabled = true;
    }
  }

  // chooseCaptions shows a track in the language that was asked for, where hls.js does not.
  #chooseCaptions() {
    if (this.#loading === "hls") return;
    const wanted = this.#options.captions?.toLowerCase();
    const tracks = [...this.#media.textTracks].filter((t) => t.kind === "subtitles" || t.kind === "captions");
    if (!wanted || tracks.some((t) => t.mode === "showing")) return;
    const languages = tracks.map((t) => t.language.toLowerCase());
    const same = languages.indexOf(wanted), related = languages.findIndex((l) => l.split("-")[0] === wanted.split("-")[0]);
    const found = tracks[same >= 0 ? same : related];
    if (!found) return;
    this.#options.captions = null; // what the viewer chooses afterwards counts
    found.mode = "showing";
  }

  #hlsFailed(Hls, error) {
    const status = error.response?.code;
    const now = performance.now();
    if (error.type === Hls.ErrorTypes.MEDIA_ERROR && now - this.#recovered > recoveryPause) {
      this.#recovered = now;
      return this.#hls.recoverMediaError();
    }
    this.#hls.destroy();
    this.#hls = null;
    this.#options.start = this.#media.currentTime || this.#options.start;
    if (status === 403) return this.#options.onProblem(...problems.expired);
    if (status === 404 && this.#reloadsOnce()) return this.#loadHLS();
    if (this.#options.mp4() && (status === 404 || error.type !== Hls.ErrorTypes.NETWORK_ERROR)) return this.#loadFile();
    if (status === 404) return this.#options.onProblem(...problems.gone);
    this.#options.onProblem(...(error.type === Hls.ErrorTypes.NETWORK_ERROR ? problems.network : problems.undecodable));
  }

  #loadFile() {
    this.#loading = "mp4";
    this.complete = true;
    this.#media.videoRenditions.set([]);
    this.#options.sounds.show([]);
    const file = this.#options.mp4();
    if (!file) return this.#options.onProblem(...problems.undecodable);
    this.#setSource(file);
  }

  #setSource(url) {
    this.#keepPlaying(() => {
      this.#media.preload = "auto";
      this.#media.src = url;
    });
  }

  // keepPlaying changes the source. That pauses an element whose play button was pressed before it had
  // one.
  #keepPlaying(change) {
    const playing = !this.#media.paused;
    change();
    if (playing) this.#media.play().catch(() => {});
  }

  // reloadsOnce reports true the first time. A file that was replaced long ago is gone, and another one is at its address.
  #reloadsOnce() {
    const first = !this.#reloaded;
    this.#reloaded = true;
    return first;
  }

  // mediaFailed handles errors of the element itself. hlsFailed handles errors of hls.js.
  async #mediaFailed() {
    if (this.#hls || this.#loading === "closed" || !this.#media.hasAttribute("src")) return;
    if (this.#loading === "native" && this.#options.mp4()) return this.#loadFile();
    const status = await statusOf(this.#media.src);
    if (status === 403) return this.#options.onProblem(...problems.expired);
    if (status === 404) return this.#options.onProblem(...problems.gone);
    if (status === 200 && this.#reloadsOnce()) {
      this.#options.start = this.#media.currentTime || this.#options.start;
      return this.#setSource(this.#media.src);
    }
    this.#options.onProblem(...(status === 0 ? problems.network : problems.undecodable));
  }

  #goToStart() {
    if (this.#loading !== "hls" && this.#options.start > 0) this.#media.currentTime = this.#options.start;
    if (this.#loading !== "native") return;
    this.#options.onLive(this.#media.duration === Infinity);
    this.#listSounds();
  }
}

// signature is the signed part of the address of a file, and the video's id behind it.
const signature = /\/v\/[^/]+\/([0-9a-f-]{36}\/)/;

function withoutSignature(url) { return url.replace(signature, "/v/$1"); }

// withSignatureOf returns the address of a file with the signature of a newer address of its stream. Playlists that were
// loaded earlier name files with the one before.
function withSignatureOf(newer, url) {
  const signed = signature.exec(newer);
  return signed ? url.replace(signature, signed[0]) : url;
}

function bufferLength(begun) { return begun ? 30 : eagerSeconds; }

// prefersNative is true in Safari, whose own HLS player costs less power and reaches AirPlay. Other
// browsers that know HLS still leave out more than hls.js does.
function prefersNative(media) {
  return "WebKitPlaybackTargetAvailabilityEvent" in window && media.canPlayType("application/vnd.apple.mpegurl") !== "";
}

async function statusOf(url) {
  try {
    return (await fetch(url, { method: "HEAD" })).status;
  } catch {
    return 0;
  }
}
