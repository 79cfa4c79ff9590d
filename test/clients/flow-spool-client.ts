// create → upload → complete → ready with our own client, in TypeScript.

import { type NewVideo, Spool, SpoolError } from "@spool-video/client";
import { openFile } from "@spool-video/client/node";

const spool = new Spool({ server: process.env.SPOOL!, apiKey: process.env.KEY! });
const draft: NewVideo = { filename: "a.mp4", resolutions: ["144p"], isPublic: true };
const video = await spool.create(draft);
await spool.upload(video, await openFile(process.env.CLIP!));
await spool.waitUntilReady(video.id);
const ready = await spool.getPublic(video.id);
const one = ready.resolutions["144p"];
// @ts-expect-error there is no such resolution
await spool.create({ ...draft, resolutions: ["9p"] }).catch((error: unknown) => {
  if (!(error instanceof SpoolError) || error.code !== "invalid_request") throw error;
});
console.log(ready.status, one?.status, typeof one?.sizeBytes);
