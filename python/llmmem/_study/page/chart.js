// What charts have in common.

/// An empty SVG that fills `box`, for a drawing of `width` by `height`.
function svgIn(box, height, label) {
  const width = Math.max(320, box.clientWidth || 320);
  const svg = d3.select(box).selectAll("svg").data([0]).join("svg").attr("viewBox", `0 0 ${width} ${height}`)
    .attr("height", height).attr("role", "group").attr("aria-label", label);
  svg.selectAll("*").remove();
  return {svg, width, height};
}

function bytesAxis(axis, count) {
  return axis.ticks(count).tickFormat(bytes => bytes >= 1e9 ? `${d3.format("~r")(+(bytes / 1e9).toPrecision(6))} GB` : bytesText(bytes)
    .replace(".00", ""));
}

/// Marks at a corner that the axis which begins there does not begin at 0; `isUpright` is an axis of heights.
function axisBreak(svg, x, y, isUpright) {
  const path = isUpright ? "M-5,-6L5,-9M-5,-11L5,-14" : "M6,5L9,-5M11,5L14,-5";
  svg.append("path").attr("class", "axis-break").attr("transform", `translate(${x},${y})`).attr("d", path)
    .append("title").text("this axis begins above 0");
}

function grid(group, axis) {
  group.call(axis).call(it => it.select(".domain").remove());
}

/// Moves labels apart that stand too close above each other; each is {y, ...}, and gets `at`.
function spread(labels, distance, lowest) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, number) => { label.at = number ? Math.max(label.y, labels[number - 1].at + distance) : label.y; });
  for (let number = labels.length - 1, limit = lowest; number >= 0; --number, limit -= distance)
    labels[number].at = Math.min(labels[number].at, limit);
  return labels;
}

/// Returns the scale across a timeline, of times or of numbers of steps; plans that are compared share it.
function acrossScale(details, across, range) {
  const last = across === "time" ? d3.max(details, detail => detail.end) : d3.max(details, detail => detail.steps.length);
  return d3.scaleLinear([0, last || 1], range);
}

/// Where a step begins and ends on that scale.
function stepBegin(detail, number, across) {
  if (across === "step") return number;
  return number < detail.steps.length ? detail.steps[number].start : detail.end;
}
function stepEnd(detail, number, across) { return across === "step" ? number + 1 : detail.steps[number].end; }

/// The step at a place of the scale.
function stepAt(detail, place, across) {
  const last = detail.steps.length - 1;
  if (across === "step") return Math.max(0, Math.min(last, Math.floor(place)));
  return Math.max(0, Math.min(last, d3.bisector(step => step.start).right(detail.steps, place) - 1));
}

function acrossAxis(scale, across, unit) {
  const axis = d3.axisBottom(scale).ticks(6).tickSizeOuter(0);
  return across === "time" ? axis.tickFormat(ns => roundTimeText(ns, unit)) : axis;
}
