// A server of your own beside Spool: it has the API key, and decides who may upload.
//
//     SPOOL_SERVER=http://127.0.0.1:8080 SPOOL_API_KEY=… node example/server.mjs

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename } from "node:path";

const { SPOOL_SERVER: spool = "http://127.0.0.1:8080", SPOOL_API_KEY: key, PORT: port = 3000 } = process.env;
const elements = import.meta.resolve("@spool-video/elements"); // dist/index.js
const uploads = new Set(); // ids of videos that this server has created: no others may be completed

/** pass hands a request on to Spool, and its answer back. */
async function pass(res, method, path, body, headers = {}) {
  const answer = await fetch(spool + path, { method, body: body && JSON.stringify(body), headers: { "X-API-KEY": key, "Content-Type": "application/json", ...headers } });
  const text = await answer.text();
  res.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type") ?? "text/plain" }).end(text);
  return answer.ok && text ? JSON.parse(text) : {};
}

async function serve(req, res) {
  const [, what, id, verb] = new URL(req.url, "http://localhost").pathname.split("/");
  if (what === "elements") return res.writeHead(200, { "Content-Type": "text/javascript" }).end(await readFile(new URL(basename(id), elements)));
  if (what !== "videos") return res.writeHead(200, { "Content-Type": "text/html" }).end(String(await readFile(new URL("index.html", import.meta.url))).replace("SPOOL_SERVER", spool));
  if (id && !uploads.has(id)) return res.writeHead(404).end();
  if (req.method === "DELETE") return pass(res, "DELETE", `/api/video/${id}`);
  if (verb === "complete") return pass(res, "POST", `/api/video/${id}/complete-upload`, {});
  const { filename } = JSON.parse(Buffer.concat(await req.toArray()));
  const video = { filename, resolutions: ["1080p", "720p", "480p"], isPublic: true };
  uploads.add((await pass(res, "POST", "/api/video", video, { "Idempotency-Key": req.headers["idempotency-key"] })).id);
}

createServer((req, res) => serve(req, res).catch((error) => res.writeHead(502).end(error.message)))
  .listen(port, function () { console.log(`http://localhost:${this.address().port}`); });
