// Resumable uploads with tus 1.0.

import { backOnline, pause, withRetries } from "./api.js";
import { send } from "./xhr.js";

const version = { "Tus-Resumable": "1.0.0" };

// maxStalls is how often in a row an upload may break off without progress.
const maxStalls = 4;

// uploadResumable sends what the server does not have yet. sent is called with the number
// of bytes that were sent, notify with the reason of each pause.
export async function uploadResumable(url, file, signal, sent, notify) {
  const retry = (what) => withRetries(() => what(url, file, signal), signal, notify);
  let offset = await retry(startOrResume);
  for (let stalls = 0; offset < file.size;) {
    const start = offset;
    sent(start);
    try {
      await patch(url, file, start, signal, (n) => sent(start + n));
      return;
    } catch (error) {
      if (signal.aborted || !canResume(error) || stalls === maxStalls) throw error;
      notify(navigator.onLine ? `${error.message} Resuming in 1 s.` : "No network. Waiting until it is back.");
      await (navigator.onLine ? pause(1000, signal) : backOnline(signal));
    }
    offset = await retry(startOrResume);
    stalls = offset > start ? 0 : stalls + 1;
    notify("Uploading");
  }
}

// startOrResume returns the offset of the upload of this file. It starts the upload if
// the server does not know it.
async function startOrResume(url, file, signal) {
  try {
    const head = await send("HEAD", url, { headers: version, signal });
    if (Number(head.getResponseHeader("Upload-Length")) === file.size) return Number(head.getResponseHeader("Upload-Offset"));
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  // The URL belongs to this file. An upload of another length is an earlier version of the file.
  await send("POST", url, { headers: { ...version, "Upload-Length": String(file.size), "Upload-Replace": "true" }, signal });
  return 0;
}

function patch(url, file, offset, signal, sent) {
  const headers = { ...version, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
  return send("PATCH", url, { headers, body: file.slice(offset), signal, sent });
}

// canResume reports whether asking for the offset and resuming helps.
function canResume(error) {
  return error.transient || ["offset_mismatch", "upload_interrupted"].includes(error.code);
}
