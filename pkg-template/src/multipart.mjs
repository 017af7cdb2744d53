// A form has a boundary that is drawn anew each time it is made into a body. Its body is what identifies a request, so that no call would ever be
// the same as the one before: forms get a boundary of their content instead.

import { concat, sha256 } from "./hashes.mjs";

const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");
/** The longest boundary there is (RFC 2046, section 5.1.1), with its dashes and the end of its line. */
const LONGEST = 70 + 4;

/** The same body and headers; of a form, with a boundary that every body of this content has. `from` is what the body was made of. */
export function withSteadyBoundary(headers, body, from) {
  const type = headers.get("content-type") ?? "";
  // A text or bytes have no boundary but the caller's own; what a Request was made of it does not tell.
  const form = from instanceof FormData || (from instanceof Request && /^multipart\/form-data\b/i.test(type));
  const drawn = form && body ? boundaryOf(body) : undefined;
  if (drawn === undefined) return { headers, body };
  const parts = split(body, encoder.encode(`--${drawn}`));
  // With their lengths, so that no two contents are one.
  const content = parts.flatMap((part) => [encoder.encode(`${part.length}:`), part]);
  const steady = `counterfoil-${sha256(joined(content)).slice(2, 42)}`;
  const own = new Headers(headers);
  own.set("content-type", type.replaceAll(drawn, steady));
  return { headers: own, body: joined(parts.flatMap((part, i) => (i === 0 ? [part] : [encoder.encode(`--${steady}`), part]))) };
}

/** The boundary with which a body begins. */
function boundaryOf(body) {
  const [line] = decoder.decode(body.subarray(0, LONGEST)).split("\r\n");
  return /^--([\x21-\x7e]+?)(?:--)?$/.exec(line)?.[1];
}

function split(body, by) {
  const parts = [];
  let start = 0;
  for (let at = body.indexOf(by[0]); at >= 0; at = body.indexOf(by[0], at + 1)) {
    if (!by.every((byte, i) => body[at + i] === byte)) continue;
    parts.push(body.subarray(start, at));
    start = at + by.length;
    at = start - 1;
  }
  return [...parts, body.subarray(start)];
}

const joined = (parts) => concat(parts, parts.reduce((sum, { length }) => sum + length, 0));
