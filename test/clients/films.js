// Films for the tests of players, and a server that encodes one of them no further than a test allows.

import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Spool, uploadFile } from "@spool-video/client";

import { apiKey, Server } from "../../clients/typescript/test/server.js";

const timescale = 10240; // of the picture of each film

/** make makes a film of some seconds, of a source of ffmpeg, and has it encoded by a server. */
export async function make(server, seconds, request, source = "testsrc2") {
  const path = join(server.dir, `${source}-${seconds}.mp4`);
  execFileSync("ffmpeg", ["-nostdin", "-v", "error", "-f", "lavfi", "-i", `${source}=s=426x240:r=10:d=${seconds}`, "-f", "lavfi", "-i", `anullsrc=r=44100:d=${seconds}`,
    "-shortest", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-video_track_timescale", `${timescale}`, "-c:a", "aac", "-y", path]);
  const spool = new Spool({ server: server.url, apiKey });
  const video = await spool.create({ filename: "a.mp4", isPublic: true, ...request });
  await uploadFile(video, new Blob([await readFile(path)]));
  await spool.completeUpload(video.id);
  return video.id;
}

/** GatedServer waits with the pictures of what begins after a second of a film, until it is told a later one. */
export class GatedServer {
  static async start(second, env = {}) {
    const gated = new GatedServer();
    const path = join(await gated.#folder(), "ffmpeg");
    await gated.allow(second);
    await writeFile(path, `#!/bin/sh
start=$(expr " $*" : '.*[^a]trim=start_pts=\\([0-9]*\\)')
while [ "\${start:-0}" -ge "$(cat '${gated.limit}')" ]; do sleep 0.2; done
exec ffmpeg "$@"
`, { mode: 0o700 });
    gated.server = await Server.start({ SPOOL_FFMPEG: path, SPOOL_SANDBOX: "off", ...env }); // a shell cannot do its work in there
    return gated;
  }

  async allow(second) {
    await writeFile(`${this.limit}.new`, `${second * timescale}`);
    await rename(`${this.limit}.new`, this.limit);
  }

  async stop() {
    await this.server?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #folder() {
    this.folder = await mkdtemp(join(tmpdir(), "spool-gate-"));
    this.limit = join(this.folder, "limit");
    return this.folder;
  }
}

export async function until(what, condition) {
  for (const deadline = Date.now() + 240_000; Date.now() < deadline;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`waited in vain for ${what}`);
}
