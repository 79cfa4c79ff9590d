// Captions above the controls. In Chromium and Safari the style sheet moves them; Firefox offers pages nothing
// but the lines of the cues.

const controls = 76; // pixels; their height
const lineHeight = 0.06; // of the picture's, about: browsers write captions with 5 % of it

// liftCaptions moves captions up while the controls are shown.
export function liftCaptions(controller, video) {
  if (CSS.supports("selector(video::-webkit-media-text-track-container)")) return;
  const lifted = new WeakSet();
  const lift = () => {
    const up = !controller.hasAttribute("userinactive") || controller.hasAttribute("mediapaused");
    for (const cue of shown(video)) {
      if (up && (cue.line === "auto" || lifted.has(cue))) {
        lifted.add(cue);
        cue.line = -lines(cue, video);
      } else if (!up && lifted.delete(cue)) cue.line = "auto";
    }
  };
  new MutationObserver(lift).observe(controller, { attributes: true, attributeFilter: ["userinactive", "mediapaused"] });
  video.textTracks.addEventListener("addtrack", ({ track }) => track.addEventListener("cuechange", lift));
  video.textTracks.addEventListener("change", lift);
}

function shown(video) {
  return [...video.textTracks].filter((track) => track.mode === "showing").flatMap((track) => [...track.activeCues ?? []]);
}

// lines is how many lines a cue begins above the lower edge.
function lines(cue, video) {
  return Math.ceil(controls / Math.max(1, video.clientHeight * lineHeight)) + cue.text.split("\n").length;
}
