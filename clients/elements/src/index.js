export { SpoolPlayer, SpoolTranscript } from "./player.js";
export { SpoolUploader } from "./uploader.js";
