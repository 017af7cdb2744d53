// One cold start: node cold-one.mjs MODULE
import { pathToFileURL } from "node:url";

const module = pathToFileURL(process.argv[2]).href;
const started = performance.now();
const { first } = await import(module);
const answer = await first();
console.log(JSON.stringify({ milliseconds: performance.now() - started, answer }));
