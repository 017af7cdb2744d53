// The most memory that a Node program took with all its threads, told by itself when it ends: node ...TELLS_PEAK script

const script = `import { isMainThread } from "node:worker_threads"; if (isMainThread) process.on("exit", () => process.stderr.write("\\npeak " + process.resourceUsage().maxRSS + "\\n"));`;
export const TELLS_PEAK = ["--import", `data:text/javascript,${encodeURIComponent(script)}`];

/** In megabytes, out of what it wrote to standard error. */
export const peakOf = (err) => Number(/\npeak (\d+)\n/.exec(err)[1]) / 1024;
