// What the uploader says. A page in another language sets the property words.

export const english = {
  choose: "Choose videos",
  chooseOne: "Choose a video",
  drop: "or drop them here",
  dropOne: "or drop it here",
  list: "Uploads",
  waiting: "Waiting",
  preparing: "Preparing",
  uploading: "{percent} % of {size}",
  paused: "Paused at {percent} % of {size}",
  finishing: "Checking the file",
  done: "Uploaded",
  failed: "Not uploaded. {reason}",
  cancelled: "Cancelled",
  refusedType: "This is none of the files that can be uploaded here.",
  refusedSize: "This file is larger than {size}, which is the most that can be uploaded here.",
  pause: "Pause",
  resume: "Resume",
  cancel: "Cancel",
  retry: "Try again",
  remove: "Remove",
  progressOf: "Upload of {name}",
  said: "{name}: {what}",
};

export type Words = typeof english;

/** fill puts values in the place of {names}. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** bytes writes a number of bytes as people read it. */
export function bytes(n: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = n < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  const value = n / 1000 ** power;
  return `${power > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}
