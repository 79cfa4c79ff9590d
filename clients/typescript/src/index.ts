export { Spool } from "./client.js";
export { SpoolError, VideoFailedError } from "./errors.js";
export type { Call, Connection } from "./http.js";
export type * from "./types.js";
export { uploadFile, type UploadOptions } from "./upload.js";
export type { WaitOptions } from "./wait.js";
export { verifyWebhook, type Webhooks } from "./webhooks.js";
