// The state of the page, what draws it, and what changes it. The address keeps it: study.html#a=...&b=...&by=block&across=step&from=arena

/// The choices of the reader, the default first.
const CHOICES = {by: ["kind", "block"], across: ["time", "step"], from: ["zero", "arena"]};
const page = {study: null, state: {a: null, b: null, by: "kind", across: "time", from: "zero"}, plans: {}};

/// What was studied: the model's size, and its file where the title names the model.
function subjectOf(study) {
  const {file, title} = study.data, parameters = new Set(study.planned.map(point => point.parameters).filter(count => count));
  return [parameters.size === 1 ? `${d3.format(",")([...parameters][0])} parameters` : null, file && file !== title ? `read from ${file}` : null]
    .filter(text => text).join(", ");
}

/// What the study says in a sentence.
function findingOf(study) {
  if (!study.planned.length) return "No plan was found at any point; the table below says why.";
  if (study.settings.length > 1) {
    const [least, most] = d3.extent(study.planned, point => point.needed), missing = study.data.points.length - study.planned.length;
    return `[[${study.planned.length}]] plans for [[${study.settings.length}]] settings, from [[${bytesText(least)}]] to [[${bytesText(most)}]]` +
      (missing ? `; [[${missing}]] points have none, and the last table says why.` : ".");
  }
  const setting = study.settings[0], points = study.planned;
  const shortest = study.shortest(setting), bound = study.provedLeast(setting);
  const leanest = list => list.reduce((a, b) => b.needed < a.needed ? b : a), more = point => percentText(point.time_ns / shortest - 1);
  const fast = leanest(points.filter(point => point.time_ns === shortest)), least = leanest(points);
  const near = leanest(points.filter(point => point.time_ns <= 1.05 * shortest));
  let text = `${upperFirst(setting || "this step")}: the fastest step ${study.unit === "ns" ? "is modelled to take" : "costs"} ${timeText(shortest, study.unit)} in [[${bytesText(fast.needed)}]].`;
  if (near.needed < fast.needed) text += ` [[${bytesText(near.needed)}]] will do for ${more(near)} of its time.`;
  if (least.needed < near.needed) text += ` The least that was found is [[${bytesText(least.needed)}]], for ${more(least)}.`;
  return bound > 0 ? `${text} No plan can need less than [[${bytesText(bound)}]]: that is proved.` : text;
}

class PlanCard {
  constructor(side) {
    this.side = side;
    this.box = document.getElementById(`plan-${side}`);
  }

  /// Builds the card of a plan again.
  load(detail) {
    this.detail = detail;
    const {point, study} = detail, more = point.time_ns / study.shortest(settingText(point)) - 1;
    const fact = (name, value, note) => make("div", {}, make("dt", {}, name), make("dd", {}, value, note ? make("small", {}, ` ${note}`) : null));
    const timeline = make("div", {class: "chart timeline", "aria-label": `Live bytes of plan ${this.side.toUpperCase()}; arrow keys walk through the steps`, role: "group"});
    const arena = make("div", {class: "chart arena"}), why = make("div", {class: "why", "aria-live": "polite"}), strip = make("div", {class: "chart strip"});
    fill(this.box, make("h3", {}, `${this.side.toUpperCase()}: ${study.fullName(point)}`),
      make("dl", {class: "facts"}, fact("needs", bytesText(point.needed)), fact(study.stepText(), timeText(point.time_ns, study.unit), percentText(more)),
        fact("proved least", timeText(point.time_lower_bound_ns, study.unit)), fact("runs again", `${point.recompute_ops} ops`),
        fact("fragmentation", `${(100 * (point.arena / Math.max(1, point.peak - point.resident) - 1)).toFixed(2)} %`)),
      make("h3", {}, "Live bytes"), make("p", {class: "note peak"}, detail.peakText()), timeline,
      make("h3", {}, "The arena, address against time"), arena, why,
      make("h3", {}, "Kept, or recomputed"), stripLegend(), strip);
    this.timeline = new TimelineChart(detail, timeline);
    this.arena = new ArenaMap(detail, arena, why);
    this.strip = new DecisionStrip(detail, strip);
  }

  draw(details) {
    this.timeline.draw(page.state, details);
    this.arena.draw(page.state, details);
    this.strip.draw();
  }
}

function shownDetails() {
  return ["a", "b"].map(side => page.study.byName.get(page.state[side])).filter(point => point && point.status === "feasible")
    .map(point => page.study.detail(point));
}

/// Takes a point as plan A or B; plan B again takes it away.
function choose(side, point) {
  const name = point ? point.name : null;
  page.state[side] = side === "b" && page.state.b === name ? null : name;
  loadPlans();
  drawPlans();
  page.frontier.mark(page.state);
  keepState();
}

function loadPlans() {
  const details = shownDetails();
  for (const side of ["a", "b"]) {
    const point = page.study.byName.get(page.state[side]), card = page.plans[side];
    document.getElementById(`select-${side}`).value = page.state[side] || "";
    card.box.hidden = !point;
    if (point && (!card.detail || card.detail.point !== point)) card.load(page.study.detail(point));
  }
  document.querySelector(".pair").classList.toggle("two", details.length > 1);
}

function drawPlans() {
  const details = shownDetails();
  for (const side of ["a", "b"]) if (page.state[side]) page.plans[side].draw(details);
  const keys = [...new Set(details.flatMap(detail => detail.stacks[page.state.by].map(([key]) => key)))], blocks = keys.filter(key => typeof key === "number");
  const shown = keys.filter(key => typeof key !== "number" || [0, blocks.length >> 1, blocks.length - 1].some(number => blocks[number] === key));
  const bytesOf = key => details.map(detail => detail.residents().filter(([role]) => ROLE + role === key).map(([, bytes]) => ` ${bytesText(bytes)}`));
  fill(document.getElementById("kinds"), ...shown.map(key => make("span", {}, swatch(colourOf(key, details[0])), keyText(key) +
    (isRole(key) ? [...new Set(bytesOf(key).flat())].join(",") : ""))),
    make("span", {}, swatch(themeColour("saved"), true), "striped: recomputed"));
  drawLedger(document.getElementById("ledger"), details);
  drawPoints(page.study, document.getElementById("points"), page.state, choose);
}

function drawAll() {
  page.frontier.draw(page.state);
  if (shownDetails().length) drawPlans();
}

function keepState() {
  const {a, b} = page.state, chosen = Object.entries(CHOICES).filter(([name, [first]]) => page.state[name] !== first).map(([name]) => [name, page.state[name]]);
  history.replaceState(null, "", `#${new URLSearchParams({a, ...(b ? {b} : {}), ...Object.fromEntries(chosen)})}`);
}

/// What is shown first: the plan under the middle budget, unless the address names another.
function firstState(study) {
  const asked = new URLSearchParams(location.hash.slice(1)), isPlan = name => study.byName.get(name)?.status === "feasible";
  const budgets = study.planned.filter(point => point.policy === "budget").sort((a, b) => a.needed - b.needed);
  const middle = budgets[budgets.length >> 1] || study.planned[0];
  page.state.a = isPlan(asked.get("a")) ? asked.get("a") : middle && middle.name;
  page.state.b = isPlan(asked.get("b")) ? asked.get("b") : null;
  for (const [name, [, value]] of Object.entries(CHOICES))
    if (asked.get(name) === value) {
      page.state[name] = value;
      document.querySelector(`input[name="${name}"][value="${value}"]`).checked = true;
    }
}

function listen(study) {
  for (const side of ["a", "b"]) {
    const select = document.getElementById(`select-${side}`);
    fill(select, side === "b" ? make("option", {value: ""}, "—") : null,
      ...study.planned.map(point => make("option", {value: point.name}, study.fullName(point))));
    select.addEventListener("change", () => choose(side, study.byName.get(select.value)));
  }
  for (const input of document.querySelectorAll("fieldset input"))
    input.addEventListener("change", () => { page.state[input.name] = input.value; drawPlans(); keepState(); });
  document.getElementById("theme").addEventListener("click", () => {
    theme.chosen = theme.names[(theme.names.indexOf(theme.chosen) + 1) % theme.names.length];
    theme.apply();
    drawAll();
  });
  const redraw = () => { theme.apply(); drawAll(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  for (const [event, isPrinting] of [["beforeprint", true], ["afterprint", false]])
    window.addEventListener(event, () => { theme.isPrinting = isPrinting; redraw(); });
  let waiting = null;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 120); });
}

async function start() {
  theme.apply();
  const study = page.study = new Study(await readStudy());
  document.getElementById("subject").textContent = subjectOf(study);
  fill(document.getElementById("finding"), ...rich(findingOf(study)));
  firstState(study);
  listen(study);
  if (!study.planned.length) {
    for (const section of document.querySelectorAll("section:not(:has(#points))")) section.hidden = true;
    drawPoints(study, document.getElementById("points"), page.state, choose);
    document.documentElement.dataset.drawn = "true";
    return;
  }
  page.frontier = new FrontierChart(study, choose);
  page.plans = {a: new PlanCard("a"), b: new PlanCard("b")};
  page.frontier.draw(page.state);
  loadPlans();
  drawPlans();
  document.documentElement.dataset.drawn = "true";
}

start().catch(error => {
  document.getElementById("finding").textContent = `This page could not be drawn (${error.message}). It needs a browser of 2023 or newer.`;
  throw error;
});
