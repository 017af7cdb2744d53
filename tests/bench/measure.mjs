// Who answers, whether all answers are the same, and how long they take. Nothing here judges a duration.

/** Asks every contender once; throws when one differs from the first. Gives the answer. */
export async function agreed({ id, product, peers }) {
  const answers = [];
  for (const [name, ask] of Object.entries({ counterfoil: product, ...peers })) answers.push([name, await ask()]);
  const [[, wanted]] = answers;
  if (typeof wanted !== "string" || wanted === "") throw new Error(`${id}: counterfoil gave no text`);
  for (const [name, answer] of answers) if (answer !== wanted) throw new Error(`${id}: ${name} differs from counterfoil`);
  return wanted;
}

/**
 * Processor time of this process, in milliseconds: on a machine that others use too, the time on the wall tells about them.
 * It counts the engine's own threads, so garbage is paid for by who makes it.
 */
export function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Times all contenders of a question in rounds: each round has everyone once, starting with another one each time, so that
 * whatever slows the machine for a while slows all of them. Speeds are calls a second of processor time; a ratio is taken within
 * a round.
 */
export async function measure({ product, peers }, { rounds, milliseconds, now = processorTime }) {
  const contenders = [];
  for (const [name, ask] of Object.entries({ counterfoil: product, ...peers })) {
    const awaited = typeof ask()?.then === "function";
    const contender = { name, time: timer(ask, awaited, now), speeds: [] };
    contender.calls = await warm(contender.time, milliseconds);
    contenders.push(contender);
  }
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const { time, calls, speeds } = contenders[(round + turn) % contenders.length];
      speeds.push((calls * 1000) / (await time(calls)));
    }
  }
  const [{ speeds: ours }] = contenders;
  return contenders.map(({ name, speeds }, place) => ({
    name,
    speed: summary(speeds),
    ...(place > 0 && { ratio: summary(speeds.map((speed, round) => ours[round] / speed)) }),
  }));
}

/** Only what answers with a promise is awaited: an `await` costs the quick ones more than their work. */
function timer(ask, awaited, now) {
  // Kept, so that no engine can find out that an answer is never used.
  let last;
  const time = async (calls) => {
    const started = now();
    if (awaited) for (let i = 0; i < calls; i++) last = await ask();
    else for (let i = 0; i < calls; i++) last = ask();
    // A clock may be coarse; no time at all would be an infinite speed.
    return Math.max(now() - started, 1e-3);
  };
  time.last = () => last;
  return time;
}

/** Runs until the engine has had time to compile, and gives the number of calls that fill `milliseconds`. */
async function warm(time, milliseconds) {
  let calls = 1;
  let spent = await time(calls);
  for (let total = spent; total < 4 * milliseconds || spent < milliseconds / 4; total += spent) {
    if (spent < milliseconds / 4) calls *= 2;
    spent = await time(calls);
  }
  return Math.max(1, Math.round((calls * milliseconds) / spent));
}

/** Median, and the quartiles as the spread. */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part) => {
    const place = part * (sorted.length - 1);
    const below = Math.floor(place);
    return sorted[below] + (sorted[Math.ceil(place)] - sorted[below]) * (place - below);
  };
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}
