// All points of the study as a table; each can be taken as plan A or B.

function drawPoints(study, box, state, choose) {
  const columns = ["plan", ...(study.settings.length > 1 ? ["model"] : []), "needs", "peak", study.stepText(), "more", "proved least", "gap", "runs again", "planned in", "A", "B"];
  const pick = (side, point) => make("td", {}, make("input", {type: "radio", name: `pick-${side}`, value: point.name, checked: state[side] === point.name,
    "aria-label": `${study.fullName(point)} as plan ${side.toUpperCase()}`, on: {change: () => choose(side, point)}}));
  const rows = [...study.data.points].sort((a, b) => study.settings.indexOf(settingText(a)) - study.settings.indexOf(settingText(b)) ||
    (b.needed || 0) - (a.needed || 0)).map(point => {
    const model = study.settings.length > 1 ? make("td", {}, study.label(point)) : null;
    if (point.status !== "feasible") {
      const why = point.status === "infeasible" ? "no plan exists: proved" : "no plan was found";
      const least = point.least_budget_found ? `; ${bytesText(point.least_budget_found)} will do` : "";
      return make("tr", {}, make("td", {}, planText(point)), model, make("td", {class: "none", colspan: 10}, why + least));
    }
    const shortest = study.shortest(settingText(point)), unit = study.unit;
    return make("tr", {"data-name": point.name}, make("td", {}, planText(point)), model,
      make("td", {"data-needed": point.needed}, bytesText(point.needed)), make("td", {}, bytesText(point.peak)),
      make("td", {"data-time": point.time_ns}, timeText(point.time_ns, unit)), make("td", {}, percentText(point.time_ns / shortest - 1)),
      make("td", {}, timeText(point.time_lower_bound_ns, unit)), make("td", {}, `${(100 * (point.time_ns - point.time_lower_bound_ns) / point.once_ns).toFixed(2)} %`),
      make("td", {}, `${point.recompute_ops} ops`), make("td", {}, `${point.planning_seconds.toFixed(2)} s`), pick("a", point), pick("b", point));
  });
  fill(box, make("table", {class: "data"}, make("thead", {}, make("tr", {}, ...columns.map(name => make("th", {scope: "col"}, name)))),
    make("tbody", {}, ...rows)));
}
