// Playing on a Chromecast. The program for that comes from Google: it is loaded where a page asks for it by the attribute
// chromecast, and nowhere else.

import { button, icon } from "./layout.js";

const program = "https://www.gstatic.com/cv/js/sender/v1/cast_sender.js?loadCastFramework=1";
const shape = "M1 18v3h3a3 3 0 0 0-3-3zm0-4v2a5 5 0 0 1 5 5h2a7 7 0 0 0-7-7zm0-4v2a9 9 0 0 1 9 9h2A11 11 0 0 0 1 10zm20-7H3a2 2 0 0 0-2 2v3h2V5h18v14h-7v2h7a2 2 0 0 0 2-2V5a2 2 0 0 0-2-2z";

let loading; // once in a page

// loadProgram resolves to true where there is something to cast with. A page with trusted types has to allow spool-cast.
function loadProgram() {
  return loading ??= new Promise((done) => {
    window.__onGCastApiAvailable = done;
    const script = document.createElement("script"), policy = globalThis.trustedTypes?.createPolicy("spool-cast", { createScriptURL: (url) => url });
    script.src = policy ? policy.createScriptURL(program) : program;
    script.onerror = () => done(false);
    document.head.append(script);
  }).catch(() => false); // the page's policy allows no such program
}

// addCast puts a button in front of a node, if the browser can cast. receiver is the id of the application on the
// television; empty: Google's own. what() is {url, title, poster} of the video.
export async function addCast(before, media, receiver, what) {
  if (!(await loadProgram()) || !before.parentNode) return;
  const { cast, chrome } = window, context = cast.framework.CastContext.getInstance();
  context.setOptions({ receiverApplicationId: receiver || chrome.cast.media.DEFAULT_MEDIA_RECEIVER_APP_ID, autoJoinPolicy: chrome.cast.AutoJoinPolicy.ORIGIN_SCOPED });
  const node = button("Play on a television", icon("0 0 24 24", shape), () => (context.getCurrentSession() ? context.endCurrentSession(true) : begin(context, media, what)));
  const show = () => { node.hidden = context.getCastState() === cast.framework.CastState.NO_DEVICES_AVAILABLE; };
  context.addEventListener(cast.framework.CastContextEventType.CAST_STATE_CHANGED, show);
  show();
  before.before(node);
}

async function begin(context, media, what) {
  const { chrome } = window, { url, title, poster } = what();
  try {
    await context.requestSession();
    const video = new chrome.cast.media.MediaInfo(url, "application/x-mpegurl");
    video.hlsSegmentFormat = video.hlsVideoSegmentFormat = chrome.cast.media.HlsSegmentFormat.FMP4;
    video.metadata = new chrome.cast.media.GenericMediaMetadata();
    Object.assign(video.metadata, { title, images: poster ? [new chrome.cast.Image(poster)] : [] });
    const request = new chrome.cast.media.LoadRequest(video);
    request.currentTime = media.currentTime;
    await context.getCurrentSession().loadMedia(request);
    media.pause();
  } catch { /* somebody closed the list of televisions, or the one chosen is gone */ }
}
