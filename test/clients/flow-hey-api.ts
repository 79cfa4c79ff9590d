// create → upload → complete → ready with what hey-api generates.

import { readFile } from "node:fs/promises";

import { createClient } from "./gen/hey/client";
import { completeUpload, createVideo, deleteVideo, getPublicVideo, getVideo, listVideos } from "./gen/hey/sdk.gen";
import type { ResolutionName, VideoStatus } from "./gen/hey/types.gen";

const client = createClient({ baseUrl: process.env.SPOOL!, auth: () => process.env.KEY!, throwOnError: true });
const resolutions: ResolutionName[] = ["144p"];
const { data: video } = await createVideo({ client, throwOnError: true, body: { filename: "a.mp4", resolutions, isPublic: true, customMetadata: { by: "hey" } } });
await fetch(video.uploadUrl!, { method: "PUT", headers: { "Content-Type": video.contentType }, body: await readFile(process.env.CLIP!) });
const path = { id: video.id };
await completeUpload({ client, throwOnError: true, path, body: {} });
let status: VideoStatus = "processing";
while (status === "processing") {
  await new Promise((resolve) => setTimeout(resolve, 200));
  status = (await getVideo({ client, throwOnError: true, path })).data.status;
}
const { data: ready } = await getPublicVideo({ client, throwOnError: true, path });
const { data: list } = await listVideos({ client, throwOnError: true, query: { limit: 5, status: "ready", metadata: { "metadata.by": "hey" } } });
if (list.videos.length !== 1 || list.videos[0]!.id !== video.id) throw new Error(`the list has ${list.videos.length} videos`);
await deleteVideo({ client, throwOnError: true, path });
console.log(ready.status, ready.resolutions["144p"]?.status, typeof ready.resolutions["144p"]?.sizeBytes);
