// Filters and theme. The page is complete without it; the state of the filters is in the URL hash, to be shared.
const root = document.documentElement;
const rows = [...document.querySelectorAll(".finding")];
const chips = [...document.querySelectorAll(".chip")];
const search = document.getElementById("search");
const count = document.getElementById("count");

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("graphdoctor-theme", root.dataset.theme); } catch { /* not kept */ }
});

const pressed = (chip) => chip.getAttribute("aria-pressed") === "true";

function filter() {
  const wanted = {};
  for (const chip of chips.filter(pressed)) (wanted[chip.dataset.key] ??= new Set()).add(chip.dataset.value);
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = words.length ? row.textContent.toLowerCase() : "";
    row.hidden = !(Object.entries(wanted).every(([key, values]) => values.has(row.dataset[key]))
      && words.every((word) => text.includes(word)));
    shown += !row.hidden;
  }
  count.textContent = shown === rows.length ? `${rows.length} shown` : `${shown} of ${rows.length} shown`;
}

function save() {
  const state = new URLSearchParams(chips.filter(pressed).map((chip) => [chip.dataset.key, chip.dataset.value]));
  if (search.value) state.set("q", search.value);
  history.replaceState(null, "", `#${state}`);
}

// A hash is either a place in the page or the state of the filters.
function restore() {
  const hash = location.hash.slice(1);
  const place = document.getElementById(hash);
  if (place) {
    if (place.tagName === "DETAILS") place.open = true;
    return place.scrollIntoView();
  }
  if (!search) return;
  const state = new URLSearchParams(hash);
  search.value = state.get("q") ?? "";
  for (const chip of chips) {
    chip.setAttribute("aria-pressed", state.getAll(chip.dataset.key).includes(chip.dataset.value));
  }
  filter();
}

if (search) {
  search.addEventListener("input", () => { filter(); save(); });
  for (const chip of chips) {
    chip.addEventListener("click", () => { chip.setAttribute("aria-pressed", !pressed(chip)); filter(); save(); });
  }
  const expand = document.getElementById("expand");
  expand.addEventListener("click", () => {
    const open = expand.getAttribute("aria-pressed") !== "true";
    expand.setAttribute("aria-pressed", open);
    for (const row of rows) row.open = open;
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && document.activeElement === search) { search.value = ""; filter(); save(); }
  });
  filter();
}
addEventListener("hashchange", restore);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
if (location.hash) restore();
