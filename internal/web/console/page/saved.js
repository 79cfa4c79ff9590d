// Uploads that a reload must not lose. A page cannot keep a file, but it can recognise one
// that is chosen again.

const storageKey = "spool.uploads";
const lifetime = 23 * 3600_000; // milliseconds; the server recognises a repeated create for a day

// printOf identifies a file on this computer.
export function printOf(file) {
  return [file.name, file.size, file.lastModified].join("|");
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(storageKey)) ?? {};
  } catch {
    return {};
  }
}

function write(all) {
  try {
    localStorage.setItem(storageKey, JSON.stringify(all));
  } catch {
    // The storage is full or forbidden: uploads work all the same, but not after a reload.
  }
}

// savedUploads returns the unfinished uploads of a key: {print, name, size, owner, draft,
// idempotencyKey, id, sent, at}.
export function savedUploads(owner) {
  return Object.values(read()).filter((upload) => upload.owner === owner && Date.now() - upload.at < lifetime);
}

export function findUpload(owner, file) {
  return savedUploads(owner).find((upload) => upload.print === printOf(file)) ?? null;
}

export function saveUpload(upload) {
  const kept = Object.entries(read()).filter(([, other]) => Date.now() - other.at < lifetime);
  write({ ...Object.fromEntries(kept), [`${upload.owner}|${upload.print}`]: upload });
}

export function dropUpload(upload) {
  const all = read();
  delete all[`${upload.owner}|${upload.print}`];
  write(all);
}

// While a tab sends a file it holds a lock, so that other tabs do not call the upload
// interrupted. Pages without HTTPS have no locks.
const lockOf = (upload) => `spool.upload ${upload.owner}|${upload.print}`;

export function holdUpload(upload, work) {
  if (!navigator.locks) return work();
  return navigator.locks.request(lockOf(upload), { ifAvailable: true }, work);
}

// interruptedUploads returns the uploads that no tab is sending.
export async function interruptedUploads(owner) {
  const { held } = (await navigator.locks?.query()) ?? { held: [] };
  return savedUploads(owner).filter((upload) => !held.some(({ name }) => name === lockOf(upload)));
}
