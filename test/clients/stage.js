// The stage of the browser tests: Spool, an application's own server on another origin, a slow line
// between browser and Spool, and Chromium.

import { existsSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";

import { Spool } from "@spool-video/client";
import { build } from "esbuild";
import { chromium } from "playwright-core";

import { apiKey, Server } from "../../clients/typescript/test/server.js";

const mebi = 1 << 20;
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export class Stage {
  static async open() {
    const stage = new Stage();
    stage.server = await Server.start();
    stage.spool = new Spool({ server: stage.server.url, apiKey });
    stage.films = { "small.mp4": await stage.server.clip("small.mp4"), "one.mp4": await stage.server.clip("one.mp4", 24 * mebi),
      "two.mp4": await stage.server.clip("two.mp4", 30 * mebi) };
    const bundled = await build({ entryPoints: [fileURLToPath(new URL("page.js", import.meta.url))], bundle: true, format: "iife", write: false });
    stage.script = bundled.outputFiles[0].text;
    stage.line = await listen(createServer((req, res) => slowly(stage.server.url, req, res)));
    stage.app = await listen(createServer((req, res) => stage.#serve(req, res)));
    stage.browser = await chromium.launch({ executablePath: browsers.find((path) => path && existsSync(path)), args: ["--no-sandbox"] });
    return stage;
  }

  async close() {
    await this.browser?.close();
    this.line?.close();
    this.app?.close();
    await this.server?.stop();
  }

  /** page opens a page of the application, with a function crash that restarts Spool by kill -9. */
  async page() {
    const page = await this.browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.exposeFunction("crash", async () => {
      await this.server.kill();
      await this.server.launch();
    });
    await page.goto(this.app.url);
    return page;
  }

  /** what an application's server does: it has the key, the page has not. */
  async #serve(req, res) {
    try {
      const [, what, id, verb] = req.url.split("/");
      if (this.films[what]) return res.end(await readFile(this.films[what]));
      if (what === "page.js") return res.writeHead(200, { "Content-Type": "text/javascript" }).end(this.script);
      if (what === "videos" && req.method === "POST") {
        const answer = verb === "complete" ? await this.spool.completeUpload(id) : await this.#create();
        return res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
      }
      res.writeHead(200, { "Content-Type": "text/html" }).end('<!doctype html><script src="/page.js"></script>');
    } catch (error) {
      res.writeHead(500, { "Content-Type": "application/json" }).end(JSON.stringify({ error: String(error) }));
    }
  }

  async #create() {
    const video = await this.spool.create({ filename: "a.mp4", resolutions: ["144p"], isPublic: true });
    return { ...video, tusUrl: video.tusUrl.replace(this.server.url, this.line.url) };
  }

  /** arrived waits for a video and reports whether its source is this film. */
  async arrived(id, name) {
    await this.spool.waitUntilReady(id);
    const folder = join(this.server.dir, "data/objects/source", id);
    const [file] = await readdir(folder);
    return sha256(join(folder, file)) === sha256(this.films[name]);
  }
}

const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** slowly passes a request on with about 10 MiB/s, so that something can happen in the middle. */
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
    await new Promise((resolve) => setTimeout(resolve, (piece.length / (10 * mebi)) * 1000));
  }
}

async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => { server.close(); server.closeAllConnections(); } };
}
