// Times within a video, as people write them.

// clock writes a time: 1:02:03, with milliseconds where there are some.
export function clock(seconds) {
  const millis = Math.round(seconds * 1000), whole = Math.floor(millis / 1000);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (h > 0 ? `${h}:${two(m)}` : String(m)) + `:${two(s)}` + (millis % 1000 ? `.${String(millis % 1000).padStart(3, "0")}` : "");
}

// parseClock reads such a time, or a number of seconds. It returns NaN for anything else.
export function parseClock(text) {
  const found = /^(?:(\d{1,3}):)?(\d{1,3}):([0-5]?\d)(?:[.,](\d{1,3}))?$/.exec(text.trim());
  if (!found) return /^\d+([.,]\d+)?$/.test(text.trim()) ? Number(text.trim().replace(",", ".")) : NaN;
  const [, h, m, s, fraction] = found;
  return Number(h ?? 0) * 3600 + Number(m) * 60 + Number(`${s}.${fraction ?? 0}`);
}
