// How far an audit is: a bar on a terminal, elsewhere a line every ten seconds.

const EVERY = { terminal: 200, plain: 10_000 };
const WIDTH = 24;

export class Progress {
  #stream = process.stderr;
  #terminal = this.#stream.isTTY === true && !process.env.CI && process.env.TERM !== "dumb";
  #started = Date.now();
  #timer;
  #drawn = false;
  bytes = 0;
  lines = 0;

  /** `total`: bytes of all inputs, undefined where that is not known. */
  constructor(total, quiet) {
    this.total = total;
    if (quiet) return;
    this.#timer = setInterval(() => this.#draw(), this.#terminal ? EVERY.terminal : EVERY.plain);
    this.#timer.unref();
  }

  #draw() {
    const seconds = (Date.now() - this.#started) / 1000;
    const rate = Math.round(this.lines / seconds);
    const part = this.total ? Math.min(1, this.bytes / this.total) : undefined;
    const left = part ? `, ${time((seconds / part) * (1 - part))} left` : "";
    const done = `${linesOf(this.lines)}, ${count(rate)} a second${left}`;
    if (!this.#terminal) return void this.#stream.write(`audit: ${part === undefined ? "" : `${Math.floor(100 * part)} %, `}${done}\n`);
    const bar = part === undefined ? "" : `[${"#".repeat(Math.round(WIDTH * part)).padEnd(WIDTH, ".")}] ${`${Math.floor(100 * part)}`.padStart(3)} % `;
    this.#stream.write(`\r${(bar + done).slice(0, (this.#stream.columns || 80) - 1)}\u001b[K`);
    this.#drawn = true;
  }

  /** Leaves an empty line behind. */
  stop() {
    clearInterval(this.#timer);
    if (this.#drawn) this.#stream.write("\r\u001b[K");
  }
}

/** Digits in groups of three. */
export function count(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, " ");
}

/** How many lines, in words. */
export function linesOf(number) {
  return `${count(number)} ${number === 1 ? "line" : "lines"}`;
}

function time(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
