// A real server for tests: the built program with its own data directory.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
export const apiKey = "client-test-key-0123456789abcdef";

/** freePort finds a port, so that a server can be started again at the same one. */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}

export class Server {
  static async start(env = {}) {
    const server = new Server();
    server.dir = await mkdtemp(join(tmpdir(), "spool-client-"));
    server.port = await freePort();
    server.url = `http://127.0.0.1:${server.port}`;
    server.env = env;
    await server.launch();
    return server;
  }

  async launch() {
    this.process = spawn(process.env.SPOOL_BINARY ?? join(root, "bin/spool"), ["serve"], {
      cwd: this.dir,
      stdio: ["ignore", "ignore", process.env.SPOOL_TEST_LOG ? "inherit" : "ignore"],
      env: {
        PATH: process.env.PATH, HOME: this.dir, SPOOL_LISTEN: `127.0.0.1:${this.port}`, SPOOL_DATA_DIR: join(this.dir, "data"),
        SPOOL_API_KEY: apiKey, SPOOL_QUALITY: "fast", SPOOL_MEASURE_QUALITY: "false", ...this.env,
      },
    });
    for (const deadline = Date.now() + 60_000; ;) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      if (this.process.exitCode !== null || Date.now() > deadline) throw new Error("the server does not start");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** kill ends it at once, as a power cut would. */
  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill("SIGKILL");
    await once(this.process, "exit");
  }

  async stop() {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** clip makes a film of a second; one with a size is as large as that. */
  async clip(name = "clip.mp4", bytes = 0) {
    const path = join(this.dir, name);
    execFileSync("ffmpeg", ["-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-pix_fmt", "yuv420p",
      "-c:v", "libx264", "-preset", "ultrafast", "-movflags", "+faststart", "-y", path]);
    if (bytes > 0) await pad(path, bytes);
    return path;
  }
}

/**
 * pad appends a box that players skip, with a size of 64 bits. Every 64 KiB of it say where they are, so that no two
 * pieces of the file are alike. The rest takes no space on the disk.
 */
async function pad(path, bytes) {
  const file = await open(path, "r+");
  const { size } = await file.stat();
  const head = Buffer.alloc(16);
  head.writeUInt32BE(1);
  head.write("free", 4);
  head.writeBigUInt64BE(BigInt(bytes - size), 8);
  await file.write(head, 0, 16, size);
  const place = Buffer.alloc(8);
  for (let at = size + 16; at + 8 <= bytes; at += 64 << 10) {
    place.writeBigUInt64BE(BigInt(at));
    await file.write(place, 0, 8, at);
  }
  await file.truncate(bytes);
  await file.close();
}
