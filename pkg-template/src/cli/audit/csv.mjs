// CSV (RFC 4180) as lines of JSON. A column `receipt` holds the document, the others what belongs to it; without that column each row is a document, its
// members named by the header. A cell that is a JSON object or array stands for itself, any other is a text; an empty one is absent.

/** `{number, text}`, numbered by the line on which each row begins. */
export async function* csvRows(chunks, longest) {
  let names;
  for await (const { number, cells, broken } of rows(chunks, longest)) {
    if (!names) names = cells;
    else if (broken || cells.length !== names.length) yield { number, text: "a row with another number of cells than the header" };
    else if (cells.length > 1 || cells[0] !== "") yield { number, text: object(names, cells) };
  }
}

function object(names, cells) {
  const members = names.flatMap((name, at) => (cells[at] === "" ? [] : [`${JSON.stringify(name)}:${value(cells[at])}`]));
  return `{${members.join(",")}}`;
}

/** Only a text that is one JSON value may stand for itself: any other could bring members of its own. */
export function value(cell) {
  if (/^\s*[[{]/.test(cell)) {
    try {
      JSON.parse(cell);
      return cell.replace(/[\n\r]/g, " ");
    } catch {
      // A text after all.
    }
  }
  return JSON.stringify(cell);
}

async function* rows(chunks, longest) {
  const decoder = new TextDecoder("utf-8");
  let [cells, cell, fresh, quoted, closed, line, number, length] = [[], "", true, false, false, 1, 1, 0];
  // Of a row that is too long nothing more is kept; where it ends is still for its quotes to say.
  const keep = (unit) => {
    fresh = false;
    if (length <= longest) cell += unit;
  };
  const end = (broken = length > longest) => {
    const row = { number, cells: [...cells, cell], broken };
    [cells, cell, fresh, quoted, closed, length] = [[], "", true, false, false, 0];
    return row;
  };
  for await (const chunk of chunks) {
    for (const unit of decoder.decode(chunk, { stream: true })) {
      if (unit === "\n") line++;
      length++;
      if (quoted) {
        if (unit === '"') [quoted, closed] = [false, true];
        else keep(unit);
      } else if (unit === '"' && closed) {
        keep(unit);
        [quoted, closed] = [true, false];
      } else if (unit === '"' && fresh) [quoted, fresh] = [true, false];
      else if (unit === ",") {
        if (length <= longest) cells.push(cell);
        [cell, fresh, closed] = ["", true, false];
      } else if (unit === "\n") {
        yield end();
        number = line;
      } else if (unit !== "\r") keep(unit);
    }
  }
  if (quoted) yield end(true);
  else if (!fresh || cells.length) yield end();
}
