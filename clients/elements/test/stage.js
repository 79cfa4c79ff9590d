// The stage of the tests: Spool, a site on another origin with a strict policy, a slow line between them, and Chromium.

import { existsSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { apiKey, Server } from "../../typescript/test/server.js";

const mebi = 1 << 20;
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const dist = new URL("../dist/", import.meta.url);

export class Stage {
  /** body is what the page of the site has; videos answers requests to /videos. */
  body = "";
  cast = false; // the policy of the page allows Google's program
  refuse = null; // an answer [status, body] to create, instead of a video
  requests = [];

  static async open() {
    const stage = new Stage();
    stage.server = await Server.start();
    stage.clip = await stage.server.clip();
    stage.large = await stage.server.clip("large.mp4", 12 * mebi);
    stage.line = await listen(createServer((req, res) => slowly(stage.server.url, req, res)));
    stage.site = await listen(createServer((req, res) => stage.#serve(req, res).catch((error) => res.writeHead(500).end(String(error)))));
    stage.browser = await chromium.launch({ executablePath: browsers.find((path) => path && existsSync(path)), args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"] });
    return stage;
  }

  async close() {
    await this.browser?.close();
    this.line?.close();
    this.site?.close();
    await this.server?.stop();
  }

  /** call asks Spool as the site's server does. */
  async call(method, path, body) {
    const answer = await fetch(this.server.url + path, { method, body: body && JSON.stringify(body), headers: { "X-API-KEY": apiKey, "Content-Type": "application/json" } });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : {} };
  }

  /** publish uploads a clip and waits until it is ready. */
  async publish(isPublic) {
    const { body: video } = await this.call("POST", "/api/video", { filename: "A film.mp4", resolutions: ["144p"], isPublic });
    await fetch(video.uploadUrl, { method: "PUT", headers: { "Content-Type": video.contentType }, body: readFileSync(this.clip) });
    await this.call("POST", `/api/video/${video.id}/complete-upload`, {});
    await this.ready(video.id);
    return video.id;
  }

  async ready(id) {
    for (const deadline = Date.now() + 120_000; ; await new Promise((resolve) => setTimeout(resolve, 200))) {
      const { body } = await this.call("GET", `/api/video/${id}`);
      if (body.status === "ready") return body;
      if (body.status === "fail" || Date.now() > deadline) throw new Error(`the video is ${body.status}`);
    }
  }

  /** page opens the page of the site, and notes what it asks for and what its policy refuses. */
  async page(body, head = '<script type="module" src="/elements/index.js"></script>', from = this.browser) {
    this.body = head + body;
    this.requests = [];
    const page = await from.newPage();
    page.setDefaultTimeout(60_000);
    page.refused = [];
    page.asked = [];
    page.on("console", (message) => { if (/Content Security Policy|TrustedHTML/.test(message.text())) page.refused.push(message.text()); });
    page.on("pageerror", (error) => page.refused.push(String(error)));
    page.on("request", (one) => page.asked.push(new URL(one.url()).origin));
    await page.goto(this.site.url);
    return page;
  }

  async #serve(req, res) {
    const [, what, id, verb] = new URL(req.url, "http://localhost").pathname.split("/"), script = { "Content-Type": "text/javascript" };
    if (what === "elements") return res.writeHead(200, script).end(readFileSync(new URL(basename(id), dist)));
    if (what === "react.js") return res.writeHead(200, script).end(await reactPage());
    if (what === "react-part") return res.writeHead(200, script).end(parts.get(id));
    if (what === "videos") return this.#videos(req, res, id, verb);
    const spool = `${this.server.url} ${this.line.url}`, cast = this.cast ? [" https://www.gstatic.com", " spool-cast"] : ["", ""];
    res.writeHead(200, {
      "Content-Type": "text/html",
      "Content-Security-Policy": `default-src 'none'; script-src 'self'${cast[0]}; connect-src 'self' ${spool}; img-src data: ${spool}; media-src blob: data: ${spool}; require-trusted-types-for 'script'; trusted-types spool-player${cast[1]}`,
    }).end(`<!doctype html><html lang="en"><title>Site</title><link rel="icon" href="data:,"><body><main><h1>Site</h1>${this.body}</main>`);
  }

  async #videos(req, res, id, verb) {
    const sent = Buffer.concat(await req.toArray()).toString();
    this.requests.push({ method: req.method, id, verb, body: sent, headers: req.headers });
    let answer = { status: 200, body: {} };
    if (!id && this.refuse) [answer.status, answer.body] = this.refuse;
    else if (req.method === "DELETE") answer = await this.call("DELETE", `/api/video/${id}`);
    else if (verb === "complete") answer = await this.call("POST", `/api/video/${id}/complete-upload`, {});
    else {
      answer = await this.call("POST", "/api/video", { filename: JSON.parse(sent).filename, resolutions: ["144p"], isPublic: true });
      answer.body.tusUrl = answer.body.tusUrl.replace(this.server.url, this.line.url);
    }
    res.writeHead(answer.status, { "Content-Type": "application/json" }).end(JSON.stringify(answer.body));
  }
}

const parts = new Map(); // of the page with React

/** reactPage bundles a page with React, as an application does. */
async function reactPage() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("app.jsx", import.meta.url))], bundle: true, format: "esm", splitting: true, outdir: "/", write: false, jsx: "automatic",
    chunkNames: "react-part/[name]-[hash]", define: { "process.env.NODE_ENV": '"production"' }, alias: { "@spool-video/elements/react": fileURLToPath(new URL("react.js", dist)) },
  });
  for (const { path, text } of outputFiles) parts.set(basename(path), text);
  return parts.get("app.js");
}

/** slowly passes a request on with about 4 MiB/s, so that something can happen in the middle. */
async function slowly(to, req, res) {
  const out = request(to + req.url, { method: req.method, headers: req.headers }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.on("error", () => res.destroy()).pipe(res);
  });
  out.on("error", () => res.destroy());
  res.on("close", () => res.writableFinished || out.destroy());
  await pipeline(req, throttle, out).catch(() => undefined); // one side has gone
}

async function* throttle(pieces) {
  for await (const piece of pieces) {
    yield piece;
    await new Promise((resolve) => setTimeout(resolve, (piece.length / (4 * mebi)) * 1000));
  }
}

async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => { server.close(); server.closeAllConnections(); } };
}
