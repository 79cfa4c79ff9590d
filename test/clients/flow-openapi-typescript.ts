// create → upload → complete → ready with the types of openapi-typescript, and openapi-fetch.

import { readFile } from "node:fs/promises";

import createClient from "openapi-fetch";

import type { components, paths } from "./gen/schema";

type VideoStatus = components["schemas"]["VideoStatus"];

const api = createClient<paths>({ baseUrl: process.env.SPOOL!, headers: { "X-API-KEY": process.env.KEY! } });
const created = await api.POST("/api/video", { body: { filename: "a.mp4", resolutions: ["144p"], isPublic: false } });
if (created.error) throw new Error(created.error.detail);
const video = created.data;
await fetch(video.uploadUrl!, { method: "PUT", headers: { "Content-Type": video.contentType }, body: await readFile(process.env.CLIP!) });
const params = { path: { id: video.id } };
await api.POST("/api/video/{id}/complete-upload", { params });
let status: VideoStatus = "processing";
while (status === "processing") {
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { data, error } = await api.GET("/api/video/{id}", { params });
  if (error) throw new Error(error.detail);
  status = data.status;
}
const ready = await api.GET("/api/video/{id}/private/{expirationSeconds}", { params: { path: { id: video.id, expirationSeconds: 60 } } });
if (ready.error) throw new Error(ready.error.detail);
const one = ready.data.resolutions["144p"];
console.log(ready.data.status, one?.status, typeof one?.sizeBytes);
