// The items of a JSON document: those of an array, else the document itself. What an item holds is not looked at here, only where it ends.

const SPACE = /\s/;
/** Stands where an item is missing: no JSON. */
const MISSING = "{";

/** `{number, text}`, numbered by the line on which each begins; of a longer item than `longest` the rest is not kept. */
export async function* jsonItems(chunks, longest) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let [depth, inString, escaped, torn, array, begun, comma, number, line] = [0, false, false, false, undefined, false, false, 1, 1];
  let [parts, size] = [[], 0];
  const keep = (part) => {
    if (size <= longest) parts.push(part);
    size += part.length;
  };
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const unit = text[at];
      if (unit === "\n") line++;
      if (inString) {
        torn ||= unit === "\n" || unit === "\r";
        if (escaped) escaped = false;
        else if (unit === "\\") escaped = true;
        else if (unit === '"') inString = false;
        continue;
      }
      if (SPACE.test(unit)) continue;
      if (array === undefined) {
        array = unit === "[";
        if (array) {
          from = at + 1;
          continue;
        }
      }
      if (array && depth === 0 && (unit === "," || unit === "]")) {
        keep(text.slice(from, at));
        // Behind a comma, and before one, an item has to stand.
        if (begun || comma || unit === ",") yield item();
        comma = unit === ",";
        from = at + 1;
        // What stands behind the array is one more item, and no document.
        if (unit === "]") array = false;
        continue;
      }
      if (!begun) [begun, number] = [true, line];
      if (unit === '"') inString = true;
      else if (unit === "{" || unit === "[") depth++;
      else if (unit === "}" || unit === "]") depth--;
    }
    keep(text.slice(from));
  }
  if (begun) yield item();
  // Nothing at all, or an array that does not end: what was cut off is one more item. Of one that is cut itself it is told already.
  if (array === undefined || (array && depth === 0 && !inString)) yield item();

  function item() {
    // Between the parts of a value a line feed is a blank; within a text it is no JSON, and must not become some.
    const text = parts.join("").replace(/[\n\r]/g, torn ? "\u0001" : " ").trim();
    const one = { number: begun ? number : line, text: text || MISSING };
    [begun, torn, parts, size] = [false, false, [], 0];
    return one;
  }
}
