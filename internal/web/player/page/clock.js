// clock writes seconds as people read them: 1:02:03.
export function clock(seconds) {
  const all = Math.max(0, Math.floor(seconds)), two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(all / 3600), minutes = Math.floor(all / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}
