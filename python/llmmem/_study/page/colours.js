// Colours. Kinds have Okabe and Ito's; resident bytes have muted ones, since they stay the same all along; blocks go from dark to
// light, which survives a grey printer.

const KINDS = ["saved", "gradient", "temporary", "workspace", "input"];
const KIND_TEXTS = {
  saved: "saved for the backward", gradient: "gradients of activations", temporary: "temporaries", workspace: "workspace of the running op",
  input: "inputs",
};

function themeColour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

const theme = {
  names: ["auto", "light", "dark"],
  chosen: "auto",
  /// Paper is white, whatever the screen is.
  isPrinting: false,
  isDark() {
    if (theme.isPrinting) return false;
    return theme.chosen === "dark" || (theme.chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  },
  apply() {
    document.documentElement.dataset.theme = theme.isDark() ? "dark" : "light";
    document.getElementById("theme").textContent = `Theme: ${theme.chosen}`;
  },
};

function colourOf(key, detail) {
  if (typeof key !== "number") return themeColour(key === OUTSIDE ? "line" : key) || themeColour(RESIDENT);
  const last = Math.max(1, d3.max(detail.stacks.block, ([name]) => typeof name === "number" ? name : 0));
  return d3.interpolateViridis(theme.isDark() ? .25 + .75 * key / last : .08 + .84 * key / last);
}

function isRole(key) { return typeof key === "string" && key.startsWith(ROLE); }

function keyText(key) {
  if (typeof key === "number") return `block ${key}`;
  return isRole(key) ? roleText(key.slice(ROLE.length)) : KIND_TEXTS[key] || key;
}

function swatch(colour, isAgain) {
  const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("aria-hidden", true);
  svg.append("rect").attr("width", 14).attr("height", 14).attr("rx", 2).attr("fill", colour);
  if (isAgain) svg.append("path").attr("d", "M-2,9L9,-2M2,16L16,2").attr("stroke", themeColour("card")).attr("stroke-width", 2);
  return svg.node();
}

/// The symbol of each policy, so that colour is never alone.
const POLICY_SYMBOLS = {budget: d3.symbolCircle, none: d3.symbolSquare, selective: d3.symbolTriangle, full: d3.symbolDiamond,
  sqrt: d3.symbolCross, "least-peak": d3.symbolStar};
function symbolOf(policy, size) { return d3.symbol().type(POLICY_SYMBOLS[policy] || d3.symbolWye).size(size)(); }

const SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#5b3a8c"];
function seriesColour(study, setting) {
  const colour = SERIES[study.settings.indexOf(setting) % SERIES.length];
  return theme.isDark() ? d3.color(colour).brighter(.6).toString() : colour;
}
