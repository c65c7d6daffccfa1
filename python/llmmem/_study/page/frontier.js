// Bytes against time: a mark for each plan, the frontier of budgets, the proved bound below it, and where no plan can be.

class FrontierChart {
  constructor(study, choose) {
    this.study = study;
    this.choose = choose; // (side, point)
    this.box = document.getElementById("frontier");
  }

  draw(state) {
    const {study} = this, {svg, width, height} = svgIn(this.box, 430, "Bytes against step time of all plans");
    const margin = {left: 74, right: 74, top: 20, bottom: 46};
    const needs = study.planned.map(point => point.needed), least = study.settings.map(setting => study.provedLeast(setting));
    const span = d3.max(needs) - d3.min(needs) || d3.max(needs) * .1;
    const low = Math.max(0, Math.min(d3.min(needs), ...least) - .07 * span);
    this.x = d3.scaleLinear([low, d3.max(needs) + .13 * span], [margin.left, width - margin.right]);
    const first = d3.min(study.planned, point => Math.min(point.time_ns, point.time_lower_bound_ns));
    const last = this.highest(), room = .08 * (last - first || last);
    this.y = d3.scaleLinear([first - room, last + room], [height - margin.bottom, margin.top + 8]);
    this.drawForbidden(svg, d3.min(least), margin, height);
    this.drawAxes(svg, margin, width, height);
    if (low > 0) axisBreak(svg, margin.left, height - margin.bottom, false);
    if (first - room > 0) axisBreak(svg, margin.left, height - margin.bottom, true);
    for (const setting of study.settings) this.drawSetting(svg, setting);
    this.drawPoints(svg, state);
    this.drawLabels(svg, height - margin.bottom);
    this.drawLegend();
  }

  /// The longest step that is drawn to scale. A few plans that take far longer than all others would flatten the rest:
  /// they stand at the upper edge, with their time.
  highest() {
    const times = this.study.planned.map(point => point.time_ns).sort((a, b) => a - b), least = times[0];
    let count = times.length;
    for (let number = count - 1; number >= .75 * times.length; --number)
      if (times[number] - least > 2.5 * (times[number - 1] - least) && times[number - 1] > least) count = number;
    return times[count - 1];
  }

  /// Where a time is drawn, and whether that is to scale.
  place(ns) { return Math.max(this.y(ns), this.y.range()[1] - 6); }
  isAbove(point) { return point.time_ns > this.y.domain()[1]; }

  drawForbidden(svg, least, margin, height) {
    const end = this.x(least);
    if (end - margin.left < 2) return;
    svg.append("rect").attr("class", "forbidden").attr("x", margin.left).attr("width", end - margin.left).attr("y", margin.top)
      .attr("height", height - margin.top - margin.bottom);
    const text = svg.append("text").attr("class", "forbidden-text").attr("transform", `translate(${end - 7},${margin.top + 8}) rotate(-90)`)
      .attr("text-anchor", "end");
    text.text(`no plan can need less than ${bytesText(least)}: proved`);
  }

  drawAxes(svg, margin, width, height) {
    const {study, x, y} = this, bottom = height - margin.bottom;
    grid(svg.append("g").attr("transform", `translate(0,${bottom})`), bytesAxis(d3.axisBottom(x), width / 110).tickSizeOuter(0));
    grid(svg.append("g").attr("transform", `translate(${margin.left},0)`),
      d3.axisLeft(y).ticks(7).tickSize(-(width - margin.left - margin.right)).tickFormat(ns => roundTimeText(ns, study.unit)));
    const from = (low, text) => low > 0 ? `; the axis begins at ${text(low)}` : "";
    svg.append("text").attr("class", "title").attr("x", width - margin.right).attr("y", height - 8).attr("text-anchor", "end")
      .text(`bytes needed: resident and arena${from(x.domain()[0], bytesText)}`);
    svg.append("text").attr("class", "title").attr("x", 6).attr("y", margin.top - 8)
      .text(`${study.stepText()}${from(y.domain()[0], ns => timeText(Math.round(ns), study.unit))}`);
    if (study.settings.length > 1) return;
    const shortest = study.shortest(study.settings[0]), percent = y.copy().domain(y.domain().map(ns => 100 * (ns / shortest - 1)));
    grid(svg.append("g").attr("transform", `translate(${width - margin.right},0)`),
      d3.axisRight(percent).ticks(7).tickFormat(number => `${number > 0 ? "+" : ""}${d3.format("~g")(+number.toPrecision(6))} %`));
  }

  drawSetting(svg, setting) {
    const {study, x} = this, colour = seriesColour(study, setting);
    const line = study.planned.filter(point => point.policy === "budget" && settingText(point) === setting)
      .sort((a, b) => a.needed - b.needed);
    const path = key => d3.line().x(point => x(point.needed)).y(point => this.place(point[key]))(line);
    svg.append("path").attr("class", "frontier-line").attr("stroke", colour).attr("d", path("time_ns"));
    svg.append("path").attr("class", "bound-line").attr("d", path("time_lower_bound_ns"));
  }

  drawPoints(svg, state) {
    const {study, x} = this, points = [...study.planned].sort((a, b) => a.needed - b.needed);
    const marks = svg.append("g").selectAll("g").data(points).join("g").attr("class", "point").attr("tabindex", 0)
      .attr("role", "button").attr("data-name", point => point.name)
      .attr("aria-label", point => `${study.fullName(point)}: needs ${bytesText(point.needed)}, ${study.stepText()} ${timeText(point.time_ns, study.unit)}`)
      .attr("transform", point => `translate(${x(point.needed)},${this.place(point.time_ns)})`);
    marks.append("circle").attr("r", 13).attr("fill", "transparent");
    marks.append("circle").attr("class", "ring").attr("r", 10);
    marks.append("path").attr("d", point => symbolOf(point.policy, point.policy === "budget" ? 56 : 96))
      .attr("fill", point => point.policy === "budget" ? seriesColour(study, settingText(point)) : themeColour("ink"))
      .attr("stroke", themeColour("paper"));
    marks.append("text").attr("class", "tag").attr("y", -15);
    const on = (name, act) => marks.on(name, given => {
      const event = given instanceof Event ? given : d3.event; // the latter before D3's version 6
      act(event, d3.select(event.currentTarget).datum());
    });
    on("click", (event, point) => this.choose(event.shiftKey ? "b" : "a", point));
    on("keydown", (event, point) => this.key(event, point));
    for (const name of ["mouseenter", "focus"]) on(name, (event, point) => this.tell(event, point));
    for (const name of ["mouseleave", "blur"]) marks.on(name, () => tip.hide());
    this.marks = marks;
    this.mark(state);
  }

  mark(state) {
    for (const side of ["a", "b"]) this.marks.classed(`is-${side}`, point => point.name === state[side]);
    this.marks.select(".tag").text(point => ["a", "b"].filter(side => point.name === state[side]).join(" ").toUpperCase());
    this.marks.attr("aria-pressed", point => point.name === state.a || point.name === state.b);
  }

  key(event, point) {
    const move = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[event.key];
    const nodes = this.marks.nodes();
    if (move) nodes[(nodes.indexOf(event.currentTarget) + move + nodes.length) % nodes.length].focus();
    else if (event.key === "Enter" || event.key === " " || event.key === "a") this.choose("a", point);
    else if (event.key === "b" || event.key === "B") this.choose("b", point);
    else return;
    event.preventDefault();
  }

  tell(event, point) {
    const {study} = this, unit = study.unit;
    const more = point.time_ns / study.shortest(settingText(point)) - 1;
    tip.show(event, make("b", {}, study.fullName(point)), rowsTable([
      ["needs", bytesText(point.needed)], [study.stepText(), `${timeText(point.time_ns, unit)} (${percentText(more)})`],
      ["proved least", timeText(point.time_lower_bound_ns, unit)], ["runs again", `${point.recompute_ops} ops`]]));
  }

  drawLabels(svg, lowest) {
    const {study, x} = this;
    const isOne = study.settings.length === 1;
    // Several settings have a name each, at their right end, and the shapes of the legend say the policies.
    const named = isOne ? study.planned.filter(point => point.policy !== "budget") : study.settings.flatMap(setting =>
      study.planned.filter(point => settingText(point) === setting).sort((one, other) => other.needed - one.needed).slice(0, 1));
    const more = point => this.isAbove(point) ? `, ${percentText(point.time_ns / study.shortest(settingText(point)) - 1)}: far above` : "";
    const [left, right] = x.range(), labels = named.map(point => {
      const isRight = x(point.needed) > left + .86 * (right - left);
      return {x: x(point.needed) + (isRight && !isOne ? -14 : 12), anchor: isRight && !isOne ? "end" : "start",
        y: this.place(point.time_ns) + (isOne ? 4 : -8), text: isOne ? point.policy + more(point) : study.label(point)};
    });
    if (!isOne)
      for (const point of study.planned.filter(it => this.isAbove(it) && it.policy !== "budget"))
        labels.push({x: x(point.needed) + 12, anchor: "start", y: this.place(point.time_ns) - 2, text: study.fullName(point) + more(point)});
    svg.append("g").selectAll("text").data(spread(labels, 15, lowest)).join("text").attr("class", "label").attr("x", label => label.x)
      .attr("y", label => label.at).attr("text-anchor", label => label.anchor).text(label => label.text);
  }

  drawLegend() {
    const {study} = this, colour = seriesColour(study, study.settings[0]);
    const line = kind => d3.create("svg").attr("width", 30).attr("height", 10).call(svg => svg.append("path").attr("class", kind)
      .attr("stroke", kind === "bound-line" ? null : colour).attr("d", "M1,5H29")).node();
    const items = [make("span", {}, line("frontier-line"), "plans under a budget"),
      make("span", {}, line("bound-line"), "proved: no plan under that budget is faster")];
    const texts = {none: "keep everything", selective: "recompute the core of attention", full: "keep each block's input, as per-block checkpointing does",
      sqrt: "keep every √n-th block's input", "least-peak": "least bytes that were found"};
    for (const policy of new Set(study.planned.map(point => point.policy))) {
      if (policy === "budget") continue;
      const svg = d3.create("svg").attr("width", 14).attr("height", 14);
      svg.append("path").attr("transform", "translate(7,7)").attr("d", symbolOf(policy, 62)).attr("fill", "currentColor");
      items.push(make("span", {}, svg.node(), `${policy}: ${texts[policy] || "keep the input of every K-th block"}`));
    }
    fill(document.getElementById("frontier-legend"), ...items);
  }
}
