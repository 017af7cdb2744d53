// Times as they are shown: UTC, the same everywhere, so that two people who look at one record read the same.

/** `2026-11-30 08:15:04`, or nothing for what is no time. */
export function clock(seconds) {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) || !seconds ? "" : date.toISOString().slice(0, 19).replace("T", " ");
}

/** How long, in the largest unit that says enough. */
export function span(seconds) {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
