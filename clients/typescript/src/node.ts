/// <reference types="node" />
// For Node only: @spool-video/client/node.

import { open, stat } from "node:fs/promises";

import { SpoolError } from "./errors.js";
import type { FileSource } from "./types.js";

/**
 * Opens a file to upload. It is read piece by piece. (fs.openAsBlob is no substitute: in Node 20 it
 * loses all but the remainder of 4 GiB.)
 */
export async function openFile(path: string): Promise<FileSource> {
  const { size, mtimeMs } = await stat(path);
  return {
    size,
    async slice(start, end, type) {
      const file = await open(path);
      try {
        const now = await file.stat();
        const content = new Uint8Array(end - start);
        let read = 0;
        for (let n = 1; n > 0 && read < content.length; read += n) {
          n = (await file.read(content, read, content.length - read, start + read)).bytesRead;
        }
        if (read < content.length || now.size !== size || now.mtimeMs !== mtimeMs) {
          throw new SpoolError("file_changed", "The file was changed while it was uploaded.");
        }
        return new Blob([content], type === undefined ? {} : { type });
      } finally {
        await file.close();
      }
    },
  };
}
