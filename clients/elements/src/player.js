// The player of Spool's own pages.
export { SpoolPlayer, SpoolTranscript } from "../../../internal/web/player/page/player.js";
