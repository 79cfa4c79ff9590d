// What a browser can say about a file before it is uploaded. The server judges the whole file; what
// is refused here is certain.

import { bytes } from "./format.js";

const headSize = 8 << 10;

// kinds are what people drop by mistake, by the bytes with which such a file begins.
const kinds = [
  ["a picture", /^(\xff\xd8\xff|\x89PNG|GIF8|BM.{4}\0\0\0\0|II\*\0|MM\0\*|RIFF.{4}WEBP|.{4}ftyp(heic|heix|heim|heis|mif1|msf1|avif|avis|crx ))/s],
  ["a PDF document", /^%PDF/],
  ["an archive or a document", /^(PK\x03\x04|\x1f\x8b|Rar!|7z\xbc\xaf|\xd0\xcf\x11\xe0)/],
];

// sound is how files with sound alone begin, as far as that is certain.
const sound = /^(ID3|fLaC|RIFF.{4}WAVE|FORM.{4}AIF[FC]|#!AMR|caff|.{4}ftyp(M4A |M4B |M4P |F4A |F4B ))/s;

// refusal says why a file is not uploaded, in words that continue its name; "": it may be a video. largest is how
// many bytes the server accepts; 0: it does not say. mayBeSound says that a file with sound alone will do.
export async function refusal(file, largest, mayBeSound) {
  if (file.size === 0) return "is empty";
  if (largest > 0 && file.size > largest) return `has ${bytes(file.size)}, and this server accepts files of up to ${bytes(largest)}`;
  let head;
  try {
    head = new Uint8Array(await file.slice(0, headSize).arrayBuffer());
  } catch {
    return "cannot be read; is it a folder?";
  }
  const text = String.fromCharCode(...head);
  if (sound.test(text)) return mayBeSound ? "" : "is music, or sound only, not a video; “Sound files, too” among the options makes one of it";
  const found = kinds.find(([, begins]) => begins.test(text))?.[0] ?? (isText(head) ? "text" : "");
  return found && `is ${found}, not a video`;
}

// isText reports whether bytes are text: no control characters but tabs and line ends.
function isText(head) {
  return head.every((byte) => byte >= 0x20 || (byte >= 9 && byte <= 13));
}
