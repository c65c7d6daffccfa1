// Live bytes across a step, stacked; the peak marked and named; the budget above them.

class TimelineChart {
  constructor(detail, box) {
    Object.assign(this, {detail, box, at: null});
    box.tabIndex = 0;
    box.addEventListener("keydown", event => this.key(event));
    box.addEventListener("focus", () => this.show(this.at ?? detail.peakStep, box));
    for (const name of ["blur", "mouseleave"]) box.addEventListener(name, () => this.hide());
  }

  /// view: {by, across}; details: of all plans that are shown, which share their scales.
  draw(view, details) {
    const {detail} = this, {svg, width, height} = svgIn(this.box, 260, `Live bytes of ${planText(detail.point)}: ${detail.peakText()}`);
    const margin = {left: 58, right: 14, top: 26, bottom: 26};
    this.view = view;
    this.x = acrossScale(details, view.across, [margin.left, width - margin.right]);
    const highest = d3.max(details, it => Math.max(it.peak, it.point.budget || 0));
    this.lowest = this.cut(details, highest);
    this.y = d3.scaleLinear([this.lowest, highest + .04 * (highest - this.lowest)], [height - margin.bottom, margin.top]).clamp(true);
    grid(svg.append("g").attr("transform", `translate(${margin.left},0)`),
      bytesAxis(d3.axisLeft(this.y), 5).tickSize(-(width - margin.left - margin.right)));
    svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`).call(acrossAxis(this.x, view.across, detail.study.unit));
    this.drawStack(svg);
    this.drawResidents(svg, margin.left + 16);
    if (this.lowest > 0) {
      axisBreak(svg, margin.left, height - margin.bottom, true);
      svg.append("text").attr("class", "label").attr("x", margin.left + 16).attr("y", height - margin.bottom - 6)
        .text(`the axis begins at ${bytesText(this.lowest)}; ${bytesText(detail.point.timeline.resident)} are resident`);
    }
    this.drawBudget(svg, width - margin.right);
    this.drawPeak(svg, margin, width);
    this.cursor = svg.append("line").attr("class", "cursor").attr("y1", margin.top).attr("y2", height - margin.bottom).attr("display", "none");
    svg.append("rect").attr("x", margin.left).attr("width", width - margin.left - margin.right).attr("y", margin.top)
      .attr("height", height - margin.top - margin.bottom).attr("fill", "transparent").node()
      .addEventListener("mousemove", event => this.follow(event, width));
  }

  /// Where the axis begins: at 0, unless the reader asks for what is above the resident bytes.
  cut(details, highest) {
    const resident = d3.min(details, it => it.point.timeline.resident);
    return this.view.from === "arena" ? Math.max(0, resident - .25 * (highest - resident)) : 0;
  }

  /// The names of resident bytes and their numbers, in the bands that are high enough.
  drawResidents(svg, x) {
    const {detail, y} = this, highEnough = 15;
    let lower = 0;
    for (const [role, bytes] of detail.residents()) {
      const bottom = y(lower), top = y(lower + bytes);
      lower += bytes;
      if (bottom - top >= highEnough && (this.lowest === 0 || lower - bytes > this.lowest))
        svg.append("text").attr("class", "label resident-label").attr("x", x).attr("y", (bottom + top) / 2 + 4)
          .text(`${roleText(role)} ${bytesText(bytes)}`);
    }
  }

  /// The steps that are drawn: where several share a pixel, the one that holds most.
  visibleSteps() {
    const {detail, x, view} = this, columns = new Map();
    for (const step of detail.steps) {
      const column = Math.floor(2 * x(stepBegin(detail, step.number, view.across)));
      const known = columns.get(column);
      if (known === undefined || detail.steps[known].live < step.live) columns.set(column, step.number);
    }
    return [...columns.values()];
  }

  drawStack(svg) {
    const {detail, x, y, view} = this, visible = this.visibleSteps(), count = detail.steps.length;
    const places = [...visible.map(step => x(stepBegin(detail, step, view.across))), x(stepBegin(detail, count, view.across))];
    let lower = visible.map(() => 0);
    for (const [key, bytes] of detail.stacks[view.by]) {
      const upper = visible.map((step, number) => lower[number] + bytes[step]);
      const area = d3.area().curve(d3.curveStepAfter).x((_, number) => places[number])
        .y0((_, number) => y(lower[Math.min(number, lower.length - 1)])).y1((_, number) => y(upper[Math.min(number, upper.length - 1)]));
      svg.append("path").attr("fill", colourOf(key, detail)).attr("d", area(places)).append("title").text(keyText(key));
      lower = upper;
    }
  }

  drawBudget(svg, right) {
    const {budget} = this.detail.point;
    if (!budget) return;
    const y = this.y(budget);
    svg.append("line").attr("class", "budget-line").attr("x1", this.x.range()[0]).attr("x2", right).attr("y1", y).attr("y2", y);
    svg.append("text").attr("class", "label").attr("x", this.x.range()[0] + 6).attr("y", y - 6).text(`budget ${bytesText(budget)}`);
  }

  drawPeak(svg, margin, width) {
    const {detail, view} = this, step = detail.peakStep;
    const x = this.x((stepBegin(detail, step, view.across) + stepEnd(detail, step, view.across)) / 2), y = this.y(detail.peak);
    svg.append("circle").attr("class", "peak-dot").attr("r", 4.5).attr("cx", x).attr("cy", y);
    const isRight = x > width / 2;
    // Where the budget's own line is close, the name of the peak stands below it.
    const text = svg.append("text").attr("class", "label peak-label").attr("x", x + (isRight ? -10 : 10)).attr("text-anchor", isRight ? "end" : "start")
      .attr("y", Math.max(margin.top - 8, y - 9));
    text.text(width > 760 ? detail.peakText() : `peak ${bytesText(detail.peak)} at step ${step}`);
    if (detail.point.budget && Math.abs(this.y(detail.point.budget) - y) < 16 && !isRight) text.attr("x", Math.max(x + 10, 190));
  }

  follow(event, width) {
    const place = this.box.getBoundingClientRect();
    this.show(stepAt(this.detail, this.x.invert((event.clientX - place.left) * width / place.width), this.view.across), event);
  }

  show(number, where) {
    const {detail, view} = this, step = detail.steps[number];
    this.at = number;
    const x = this.x((stepBegin(detail, number, view.across) + stepEnd(detail, number, view.across)) / 2);
    this.cursor.attr("display", null).attr("x1", x).attr("x2", x);
    const rows = detail.stacks[view.by].filter(([, bytes]) => bytes[number] > 0).map(([key, bytes]) => [keyText(key), bytesText(bytes[number])]);
    tip.show(where, make("b", {}, detail.stepText(number)), rowsTable([["live", bytesText(step.live)],
      ["modelled", detail.time(step.end - step.start)], ...rows.reverse().slice(0, 9)]));
  }

  hide() {
    tip.hide();
    if (this.cursor) this.cursor.attr("display", "none");
  }

  key(event) {
    const last = this.detail.steps.length - 1, at = this.at ?? this.detail.peakStep;
    const next = {ArrowRight: Math.min(last, at + 1), ArrowLeft: Math.max(0, at - 1), Home: 0, End: last, p: this.detail.peakStep}[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.show(next, this.box);
  }
}
