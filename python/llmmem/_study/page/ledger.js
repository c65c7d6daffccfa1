// The ledger: where the bytes of each plan are, as a table.

/// Rows of [title, value of a point] under headings; values are bytes.
function ledgerRows(details) {
  const roles = [...new Set(details.flatMap(detail => Object.keys(detail.point.roles)))]
    .filter(role => details.some(detail => detail.point.roles[role] > 0));
  const atPeak = detail => kind => d3.sum(detail.buffers, buffer =>
    buffer.kind === kind && buffer.from <= detail.peakStep && detail.peakStep <= buffer.to ? buffer.bytes : 0);
  const kinds = KINDS.filter(kind => details.some(detail => atPeak(detail)(kind) > 0));
  return [
    {heading: "What is allocated"},
    ...roles.map(role => ({title: roleText(role), of: detail => detail.point.roles[role] || 0})),
    {title: "padding of resident buffers", of: detail => detail.point.resident_padding},
    {title: "arena", of: detail => detail.point.arena},
    {title: "needs", of: detail => detail.point.needed, isSum: true},
    {heading: "What is live at the peak"},
    {title: "resident, as above", of: detail => detail.point.resident},
    ...kinds.map(kind => ({title: KIND_TEXTS[kind], of: detail => atPeak(detail)(kind)})),
    {title: "peak", of: detail => detail.peak, isSum: true},
    {title: "proved: no plan has a lower peak than", of: detail => detail.point.peak_lower_bound},
    {heading: "Saved values"},
    {title: "kept from the forward for the backward", of: detail => d3.sum(detail.saved, entry => entry.kept ? entry.bytes : 0)},
    {title: "recomputed", of: detail => d3.sum(detail.saved, entry => entry.kept ? 0 : entry.bytes)},
  ];
}

/// The largest buffers that are live at the peak of a plan.
function largestAtPeak(detail, count) {
  return detail.buffers.filter(buffer => buffer.from <= detail.peakStep && detail.peakStep <= buffer.to)
    .sort((a, b) => b.bytes - a.bytes).slice(0, count);
}

function drawLedger(box, details) {
  const sides = ["a", "b"], two = details.length > 1;
  const head = make("tr", {}, make("th", {scope: "col"}, "bytes"),
    ...details.map((detail, number) => make("th", {scope: "col", class: `plan-${sides[number]}`}, planText(detail.point))),
    two ? make("th", {scope: "col"}, "B less A") : null);
  const rows = ledgerRows(details).map(row => {
    if (row.heading) return make("tr", {class: "group"}, make("th", {colspan: 4, scope: "rowgroup"}, row.heading));
    const values = details.map(row.of), strong = text => row.isSum ? make("b", {}, text) : text;
    return make("tr", {}, make("td", {}, strong(row.title)),
      ...values.map(value => make("td", {"data-bytes": value, title: `${d3.format(",")(value)} bytes`}, strong(bytesText(value)))),
      two ? make("td", {}, values[0] === values[1] ? "–" : `${values[1] > values[0] ? "+" : "−"}${bytesText(Math.abs(values[1] - values[0]))}`) : null);
  });
  const held = details.map(detail => largestAtPeak(detail, 10));
  const live = d3.range(d3.max(held, list => list.length)).map(number => make("tr", {}, make("td", {}, `${number + 1}`),
    ...held.map(list => list[number] ? make("td", {}, `${list[number].name}${list[number].block === undefined ? "" : ` (block ${list[number].block})`}: ` +
      bytesText(list[number].bytes)) : make("td", {}, "")), two ? make("td", {}, "") : null));
  fill(box, make("table", {class: "data"}, make("thead", {}, head), make("tbody", {}, ...rows,
    make("tr", {class: "group"}, make("th", {colspan: 4, scope: "rowgroup"}, "Largest of the arena at the peak")), ...live)));
}
