// Sending a file so that it goes on where it broke off, with tus 1.0.

import { patiently, pause } from "./api.js";
import { send } from "./send.js";

const version = { "Tus-Resumable": "1.0.0" };

// stuck is how often in a row an upload may break without any progress.
const stuck = 4;

// sendInPieces sends what the server does not have yet. sent is called with the
// bytes that are there or on their way, tell with the reason of each pause.
export async function sendInPieces(address, file, signal, sent, tell) {
  const ask = (what) => patiently(() => what(address, file, signal), signal, tell);
  let from = await ask(begin);
  for (let breaks = 0; from < file.size;) {
    const start = from;
    sent(start);
    try {
      await patch(address, file, start, signal, (n) => sent(start + n));
      return;
    } catch (error) {
      if (signal.aborted || !goesOn(error) || breaks === stuck) throw error;
      tell(`${error.message} Going on in 1 s.`);
      await pause(1000, signal);
    }
    from = await ask(begin);
    breaks = from > start ? 0 : breaks + 1;
    tell("Uploading");
  }
}

// begin returns how much the server has, after it knows about the file.
async function begin(address, file, signal) {
  try {
    const told = await send("HEAD", address, { headers: version, signal });
    if (Number(told.getResponseHeader("Upload-Length")) === file.size) return Number(told.getResponseHeader("Upload-Offset"));
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  await send("POST", address, { headers: { ...version, "Upload-Length": String(file.size) }, signal });
  return 0;
}

function patch(address, file, from, signal, sent) {
  const headers = { ...version, "Upload-Offset": String(from), "Content-Type": "application/offset+octet-stream" };
  return send("PATCH", address, { headers, body: file.slice(from), signal, sent });
}

// goesOn reports whether asking for the offset helps.
function goesOn(error) {
  return error.passing || ["offset_mismatch", "upload_interrupted"].includes(error.code);
}
