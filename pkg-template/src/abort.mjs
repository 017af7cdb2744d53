// Giving up: whoever waits for something of the host's gives up as soon as the caller does.

/** What `work` gives, or the signal's reason as soon as the caller gives up. */
export async function unlessAborted(signal, work) {
  signal?.throwIfAborted();
  let stop;
  const aborted = new Promise((_, reject) => (stop = () => reject(signal.reason)));
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Resolves after so many milliseconds. */
export async function pause(signal, ms) {
  let timer;
  try {
    await unlessAborted(signal, () => new Promise((resolve) => (timer = setTimeout(resolve, ms))));
  } finally {
    clearTimeout(timer);
  }
}
