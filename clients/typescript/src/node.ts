/// <reference types="node" />
// For Node only: @spool-video/client/node.

import { type FileHandle, open, stat } from "node:fs/promises";
import * as http from "node:http";
import * as https from "node:https";

import { answerError, networkError, SpoolError } from "./errors.js";
import { stallSeconds } from "./send.js";
import type { Answer, FileSource, PartRequest } from "./types.js";

export interface FileOptions {
  /** The agent of node:http or node:https that sends the file, for a proxy or certificates of your own. Default: Node's. */
  agent?: http.Agent;
}

const pieceBytes = 256 << 10;

/**
 * Opens a file to upload. It is read and sent through one small buffer, so an upload takes the same
 * memory whatever the size. (fs.openAsBlob is no substitute: in Node 20 it loses all but the
 * remainder of 4 GiB.)
 */
export async function openFile(path: string, options: FileOptions = {}): Promise<FileSource> {
  const { size, mtimeMs } = await stat(path);
  const unchanged = async (file: FileHandle) => {
    const now = await file.stat();
    if (now.size !== size || now.mtimeMs !== mtimeMs) throw changed();
  };
  let spare: Buffer | undefined; // the buffer of the last part that was sent
  return {
    size,
    async slice(start, end, type) {
      return reading(path, async (file) => {
        await unchanged(file);
        const content = new Uint8Array(end - start);
        if (await fill(file, content, start) < content.length) throw changed();
        return new Blob([content], type === undefined ? {} : { type });
      });
    },
    async sendPart(part) {
      let used: Buffer | undefined;
      const answer = await reading(path, async (file) => {
        await unchanged(file);
        return follow(part, options.agent, async (write) => {
          // Each request has a buffer of its own, and keeps it if it was not the last one: a read or a write of it may still be under way.
          const buffer = used = spare ?? Buffer.allocUnsafeSlow(pieceBytes);
          spare = undefined;
          for (let at = part.start; at < part.end;) {
            const piece = buffer.subarray(0, Math.min(buffer.length, part.end - at));
            if (await fill(file, piece, at) < piece.length) throw changed();
            at += piece.length;
            if (at === part.end) await unchanged(file);
            await write(piece);
            part.sent?.(at - part.start);
          }
        });
      });
      spare = used;
      return answer;
    },
  };
}

function changed(): SpoolError {
  return new SpoolError("file_changed", "The file was changed while it was uploaded.");
}

async function reading<T>(path: string, what: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    return await what(file);
  } finally {
    await file.close();
  }
}

/** fill reads until the buffer is full or the file ends, and returns how much it has read. */
async function fill(file: FileHandle, buffer: Uint8Array, from: number): Promise<number> {
  let read = 0;
  for (let n = 1; n > 0 && read < buffer.length; read += n) {
    n = (await file.read(buffer, read, buffer.length - read, from + read)).bytesRead;
  }
  return read;
}

/** Writes the body of a request. Each write ends when its bytes have left the buffer, and never if the connection broke. */
type Body = (write: (piece: Uint8Array) => Promise<void>) => Promise<void>;

type Received = Answer & { body: string };

/** follow sends a request to where its URL leads, with method and body. So does fetch, but for a POST. */
async function follow(part: PartRequest, agent: http.Agent | undefined, body: Body): Promise<Answer> {
  let url = part.url;
  for (let hops = 0; ; hops++) {
    const answer = await transmit(url, part, agent, body);
    const elsewhere = [301, 302, 307, 308].includes(answer.status) && hops < 5 ? answer.header("Location") : null;
    if (elsewhere === null) return accepted(answer);
    url = new URL(elsewhere, url).href;
  }
}

function accepted(answer: Received): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw answerError(answer.status, answer.body, answer.header("Retry-After"));
}

/**
 * transmit makes one request with node:http. fetch would need new memory for each piece, which is
 * freed long after it was sent, and does not tell how far it is.
 */
function transmit(url: string, part: PartRequest, agent: http.Agent | undefined, body: Body): Promise<Received> {
  const { method, signal } = part;
  const headers = { ...part.headers, "Content-Length": String(part.end - part.start) };
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const request = (url.startsWith("https:") ? https : http).request(url, { method, headers, agent, signal, timeout: 1000 * stallSeconds });
    let answered = false, whole = false;
    const fail = (error: unknown) => { request.destroy(); reject(error); };
    const lose = (error: unknown) => fail(networkError(error, signal));
    // A server that refuses a body closes the connection. What it has answered counts, not that the rest could not be sent.
    const broken = (error: unknown) => { if (!answered) lose(error); };
    request.on("error", broken);
    request.on("timeout", () => lose(new Error("The connection makes no progress.")));
    request.on("response", (response) => {
      answered = true;
      receive(response).then((answer) => {
        if (!whole) request.destroy();
        if (!whole && answer.status < 300) return lose(new Error("The answer came before the end of the request."));
        resolve(answer);
      }, lose);
    });
    const write = (piece: Uint8Array) => new Promise<void>((done) => {
      request.write(piece, (error) => (error ? broken(error) : done()));
    });
    body(write).then(() => { whole = true; request.end(); }, fail); // not with a fault of the connection
  });
}

async function receive(response: http.IncomingMessage): Promise<Received> {
  let body = "";
  for await (const piece of response.setEncoding("utf8")) body += piece;
  const header = (name: string) => {
    const value = response.headers[name.toLowerCase()];
    return value === undefined ? null : String(value);
  };
  return { status: response.statusCode ?? 0, header, body };
}
