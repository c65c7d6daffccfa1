// Numbers and elements as text. `textOf...` give what a person reads.

function bytesText(bytes) {
  const names = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  let shown = bytes, unit = 0;
  while (unit + 1 < names.length && Math.abs(shown) >= 999.995) { shown /= 1000; ++unit; }
  return unit ? `${shown.toFixed(2)} ${names[unit]}` : `${bytes} B`;
}

function timeText(ns, unit) {
  if (unit !== "ns") return d3.format(",")(ns);
  if (ns >= 1e9) return `${(ns / 1e9).toFixed(2)} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`;
  return ns >= 1e3 ? `${(ns / 1e3).toFixed(2)} µs` : `${ns} ns`;
}

/// For axes: `12 ms`, `0`.
function roundTimeText(ns, unit) { return ns === 0 ? "0" : timeText(ns, unit).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " "); }

function percentText(part) {
  const percent = 100 * part;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(Math.abs(percent) < 10 ? 2 : 1)} %`;
}

function upperFirst(text) { return text[0].toUpperCase() + text.slice(1); }

/// An element with attributes, and children that are elements or text. Text is never read as HTML.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function fill(element, ...children) {
  element.replaceChildren(...children.filter(child => child !== null && child !== undefined));
  return element;
}

/// A text in which [[what]] is bold.
function rich(text) {
  return text.split(/\[\[(.*?)\]\]/).map((part, number) => number % 2 ? make("b", {}, part) : part);
}

/// The tip stands next to the pointer, or next to the element that has the focus.
const tip = {
  show(event, ...content) {
    const box = fill(document.getElementById("tip"), ...content);
    box.hidden = false;
    let x = event.clientX, y = event.clientY;
    if (x === undefined) {
      const place = (event.target || event).getBoundingClientRect();
      x = place.right; y = place.bottom;
    }
    const size = box.getBoundingClientRect();
    box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - size.width - 8))}px`;
    box.style.top = `${y + 16 + size.height > innerHeight ? Math.max(4, y - size.height - 12) : y + 16}px`;
  },
  hide() { document.getElementById("tip").hidden = true; },
};

function rowsTable(rows) {
  return make("table", {}, ...rows.map(row => make("tr", {}, ...row.map(cell => make("td", {}, cell)))));
}
