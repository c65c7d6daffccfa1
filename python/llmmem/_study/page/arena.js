// The arena as a map: addresses upwards, time across, a rectangle for each buffer. A canvas, since there may be tens of
// thousands. What was recomputed is striped.

class ArenaMap {
  constructor(detail, box, why) {
    Object.assign(this, {detail, box, why, chosen: null});
    this.canvas = make("canvas", {tabindex: 0, role: "img", "aria-label": `Map of the arena of ${planText(detail.point)}: ` +
      `${detail.buffers.length} buffers in ${bytesText(detail.point.arena)}. Arrow keys move, plus and minus zoom, n and b walk through the buffers`});
    const button = (text, label, act) => make("button", {type: "button", "aria-label": label, title: label, on: {click: act}}, text);
    fill(box, this.canvas, make("div", {class: "tools"}, button("+", "Zoom in", () => this.scale(1.6)),
      button("−", "Zoom out", () => this.scale(1 / 1.6)), button("whole", "Show the whole arena", () => this.reset())));
    this.zoom = d3.zoom().scaleExtent([1, 400]).on("zoom", given => {
      this.transform = (given && given.transform) || d3.event.transform;
      this.paint();
    });
    // The wheel scrolls the page, unless a modifier or a zoom that is under way says that it is meant for the map.
    this.zoom.filter((given) => {
      const event = given instanceof Event ? given : d3.event;
      return !event.button && (event.type !== "wheel" || event.ctrlKey || event.metaKey || this.transform.k > 1);
    });
    this.transform = d3.zoomIdentity;
    d3.select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("mousemove", event => this.tell(event));
    this.canvas.addEventListener("mouseleave", () => tip.hide());
    this.canvas.addEventListener("click", event => this.choose(this.find(event)));
    this.canvas.addEventListener("keydown", event => this.key(event));
    const peak = detail.buffers.filter(buffer => buffer.from <= detail.peakStep && detail.peakStep <= buffer.to);
    this.walk = [...detail.buffers].sort((a, b) => b.bytes - a.bytes);
    this.choose(d3.least ? d3.least(peak, (a, b) => b.bytes - a.bytes) : peak.sort((a, b) => b.bytes - a.bytes)[0], true);
  }

  draw(view, details) {
    const width = this.canvas.clientWidth || this.box.clientWidth, height = 300, ratio = window.devicePixelRatio || 1;
    Object.assign(this, {view, width, height, ratio});
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    // The same margins as the timeline above it.
    this.x = acrossScale(details, view.across, [58, width - 14]);
    this.y = d3.scaleLinear([0, d3.max(details, detail => detail.point.arena) || 1], [height - 6, 8]);
    this.zoom.extent([[58, 0], [width, height]]).translateExtent([[58, 0], [width, height]]);
    this.paint();
  }

  scales() { return [this.transform.rescaleX(this.x), this.transform.rescaleY(this.y)]; }

  rectangle(buffer, x, y) {
    const {detail, view} = this, left = x(stepBegin(detail, buffer.from, view.across));
    return [left, y(buffer.offset + buffer.bytes), Math.max(.6, x(stepEnd(detail, buffer.to, view.across)) - left),
      y(buffer.offset) - y(buffer.offset + buffer.bytes)];
  }

  paint() {
    if (!this.x) return;
    const {detail, view, width, height, ratio} = this, context = this.canvas.getContext("2d"), [x, y] = this.scales();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = themeColour("card");
    context.fillRect(0, 0, width, height);
    const surface = themeColour("card"), ink = themeColour("ink"), colours = new Map(), stripes = this.stripes(context, surface);
    context.font = "11px system-ui, sans-serif";
    this.paintAxis(context, y);
    context.save();
    context.beginPath(); context.rect(58, 0, width - 58, height); context.clip();
    for (const buffer of detail.buffers) {
      const key = view.by === "kind" ? buffer.kind : buffer.block ?? OUTSIDE;
      if (!colours.has(key)) colours.set(key, colourOf(key, detail));
      const [left, top, wide, high] = this.rectangle(buffer, x, y);
      if (left > width || left + wide < 0 || top > height || top + high < 0) continue;
      context.fillStyle = colours.get(key);
      context.fillRect(left, top, wide, high);
      if (buffer.again && wide > 2) { context.fillStyle = stripes; context.fillRect(left, top, wide, high); }
      if (wide > 3 && high > 3) { context.strokeStyle = surface; context.lineWidth = .7; context.strokeRect(left, top, wide, high); }
      if (wide > 64 && high > 13) this.name(context, buffer, colours.get(key), left, top, wide, high);
    }
    this.paintPeak(context, x, ink);
    if (this.chosen) {
      context.strokeStyle = ink; context.lineWidth = 2;
      context.strokeRect(...this.rectangle(this.chosen, x, y));
    }
    context.restore();
  }

  paintAxis(context, y) {
    context.textAlign = "right";
    for (const address of y.ticks(5)) {
      const at = y(address);
      context.fillStyle = themeColour("grid");
      context.fillRect(58, at, this.width - 58, 1);
      context.fillStyle = themeColour("soft");
      context.fillText(address ? bytesText(address).replace(/\.?0+ /, " ") : "0", 52, Math.min(at + 4, this.height - 2));
    }
    context.textAlign = "left";
  }

  stripes(context, colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour; pen.globalAlpha = .55; pen.lineWidth = 1.3;
    pen.beginPath(); pen.moveTo(-1, 4); pen.lineTo(4, -1); pen.moveTo(2, 7); pen.lineTo(7, 2); pen.stroke();
    return context.createPattern(tile, "repeat");
  }

  name(context, buffer, colour, left, top, wide, high) {
    context.save();
    context.beginPath(); context.rect(left, top, wide, high); context.clip();
    context.fillStyle = d3.lab(colour).l > 55 ? "#111" : "#fff";
    context.fillText(buffer.name, Math.max(left, 0) + 4, top + high / 2 + 4);
    context.restore();
  }

  paintPeak(context, x, ink) {
    const {detail, view} = this, place = x((stepBegin(detail, detail.peakStep, view.across) + stepEnd(detail, detail.peakStep, view.across)) / 2);
    context.strokeStyle = ink; context.lineWidth = 1; context.setLineDash([3, 3]);
    context.beginPath(); context.moveTo(place, 0); context.lineTo(place, this.height); context.stroke();
    context.setLineDash([]);
  }

  find(event) {
    const place = this.canvas.getBoundingClientRect(), [x, y] = this.scales();
    const across = event.clientX - place.left, down = event.clientY - place.top;
    return this.detail.buffers.find(buffer => {
      const [left, top, wide, high] = this.rectangle(buffer, x, y);
      return left <= across && across <= left + wide && top <= down && down <= top + high;
    });
  }

  tell(event) {
    const buffer = this.find(event);
    if (!buffer) return tip.hide();
    tip.show(event, make("b", {}, buffer.name), rowsTable([["bytes", bytesText(buffer.bytes)], ["kind", buffer.kind],
      ["block", buffer.block === undefined ? "none" : String(buffer.block)]]));
  }

  /// Says what a buffer is and why it is there.
  choose(buffer, isFirst) {
    if (!buffer) return;
    this.chosen = buffer;
    const {detail} = this, end = buffer.offset + buffer.bytes;
    fill(this.why, make("p", {}, make("b", {}, buffer.name), ` · ${buffer.kind}${buffer.again ? ", recomputed" : ""} · ` +
      `${bytesText(buffer.bytes)} at ${d3.format(",")(buffer.offset)} to ${d3.format(",")(end)} · steps ${buffer.from} to ${buffer.to}`),
      make("p", {}, detail.why(buffer).join(" ")));
    if (!isFirst) this.paint();
  }

  scale(factor) { d3.select(this.canvas).call(this.zoom.scaleBy, factor); }
  reset() { d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity); }

  key(event) {
    const {key} = event, move = {ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40]}[key];
    if (move) d3.select(this.canvas).call(this.zoom.translateBy, move[0] / this.transform.k, move[1] / this.transform.k);
    else if (key === "+" || key === "=") this.scale(1.6);
    else if (key === "-") this.scale(1 / 1.6);
    else if (key === "0") this.reset();
    else if (key === "n" || key === "b") {
      const at = this.walk.indexOf(this.chosen), count = this.walk.length;
      this.choose(this.walk[(at + (key === "n" ? 1 : count - 1)) % count]);
    } else return;
    event.preventDefault();
  }
}
