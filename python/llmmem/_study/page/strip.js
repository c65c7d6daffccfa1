// What became of each saved value: rows are values of a block, columns are blocks. Kept is full, recomputed is an outline
// with a stroke through it, so that no colour is needed to tell.

/// `h.3.attn.out` of block 3 is `attn.out` of every block.
function rowName(entry) {
  if (entry.block === undefined) return entry.name;
  const parts = entry.name.split("."), at = parts.indexOf(String(entry.block));
  return at < 0 ? entry.name : parts.slice(at + 1).join(".") || entry.name;
}

class DecisionStrip {
  constructor(detail, box) {
    Object.assign(this, {detail, box});
    const rows = new Map();
    for (const entry of detail.saved) {
      const name = rowName(entry), key = `${entry.block === undefined ? 1 : 0} ${name}`;
      if (!rows.has(key)) rows.set(key, {name, isOutside: entry.block === undefined, entries: []});
      rows.get(key).entries.push(entry);
    }
    this.rows = [...rows.values()].sort((a, b) => a.isOutside - b.isOutside || this.bytes(b) - this.bytes(a));
    this.blocks = [...new Set(detail.saved.map(entry => entry.block).filter(block => block !== undefined))].sort((a, b) => a - b);
  }

  bytes(row) { return d3.sum(row.entries, entry => entry.bytes); }

  draw() {
    const {detail, rows, blocks} = this, high = 17, nameRight = 142, left = 222, right = 14;
    const kept = d3.sum(detail.saved, entry => entry.kept ? entry.bytes : 0), all = d3.sum(detail.saved, entry => entry.bytes);
    const inBlocks = rows.filter(it => !it.isOutside).length, gap = inBlocks && inBlocks < rows.length ? 20 : 0;
    const {svg, width, height} = svgIn(this.box, 30 + high * rows.length + gap, `Decisions: ${bytesText(kept)} of ${bytesText(all)} kept`);
    const x = d3.scaleBand(blocks.length ? blocks : [0], [left, width - right]).paddingInner(.14);
    const every = Math.ceil(blocks.length / Math.max(1, Math.floor((width - left - right) / 26)));
    svg.append("g").selectAll("text").data(blocks.filter((_, number) => number % every === 0)).join("text").attr("text-anchor", "middle")
      .attr("x", block => x(block) + x.bandwidth() / 2).attr("y", 12).text(block => block);
    if (blocks.length) svg.append("text").attr("x", left - 8).attr("y", 12).attr("text-anchor", "end").text("block");
    const row = svg.append("g").selectAll("g").data(rows).join("g").attr("transform", (it, number) => `translate(0,${20 + number * high + (it.isOutside ? gap : 0)})`);
    if (gap) svg.append("text").attr("x", left).attr("y", 20 + inBlocks * high + 15).text("outside blocks");
    row.append("text").attr("x", nameRight).attr("y", 11).attr("text-anchor", "end").text(it => it.name.length > 21 ? `…${it.name.slice(-20)}` : it.name);
    row.append("text").attr("class", "row-bytes").attr("x", left - 8).attr("y", 11).attr("text-anchor", "end").text(it => bytesText(this.bytes(it)));
    const colour = themeColour("saved"), cells = row.selectAll("g").data(it => it.entries).join("g")
      .attr("transform", entry => `translate(${entry.block === undefined ? left : x(entry.block)},1)`);
    const wide = Math.min(x.bandwidth(), 60);
    cells.append("rect").attr("width", entry => entry.block === undefined ? Math.min(wide, 30) : x.bandwidth()).attr("height", high - 4).attr("rx", 2)
      .attr("fill", entry => entry.kept ? colour : "transparent").attr("stroke", colour).attr("class", entry => entry.kept ? "cell-kept" : "cell-again");
    cells.filter(entry => !entry.kept).append("path").attr("stroke", colour).attr("stroke-width", 1.2)
      .attr("d", entry => `M0,${high - 4}L${entry.block === undefined ? Math.min(wide, 30) : x.bandwidth()},0`);
    cells.append("title").text(entry => `${entry.name}: ${bytesText(entry.bytes)}, ${entry.kept ? "kept" : "recomputed"}`);
    this.height = height;
  }
}

function stripLegend() {
  const colour = themeColour("saved"), cell = isKept => {
    const svg = d3.create("svg").attr("width", 18).attr("height", 13);
    svg.append("rect").attr("x", 1).attr("y", 1).attr("width", 16).attr("height", 11).attr("rx", 2).attr("stroke", colour)
      .attr("fill", isKept ? colour : "transparent");
    if (!isKept) svg.append("path").attr("d", "M1,12L17,1").attr("stroke", colour);
    return svg.node();
  };
  return make("div", {class: "legend"}, make("span", {}, cell(true), "kept"), make("span", {}, cell(false), "recomputed"));
}
