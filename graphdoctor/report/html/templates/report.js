// Filters, copying and printing. The page is complete without it; what is filtered by stands in the URL hash.
const root = document.documentElement;
const $ = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll(".finding")];
const chips = [...document.querySelectorAll(".chip")];
const [search, rule, count, clear, expand] = ["search", "rule", "count", "clear", "expand"].map($);
const texts = new Map();
const pressed = (chip) => chip.getAttribute("aria-pressed") === "true";
const text = (row) => texts.get(row) ?? texts.set(row, row.textContent.toLowerCase()).get(row);

$("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("graphdoctor-theme", root.dataset.theme); } catch { /* not kept */ }
});

function state() {
  const wanted = new URLSearchParams(chips.filter(pressed).map((chip) => [chip.dataset.key, chip.dataset.value]));
  if (rule?.value) wanted.set("rule", rule.value);
  if (search.value) wanted.set("q", search.value);
  return wanted;
}

function filter(wanted = state()) {
  const keys = [...new Set(wanted.keys())].filter((key) => key !== "q");
  const words = (wanted.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) {
    row.hidden = !(keys.every((key) => wanted.getAll(key).includes(row.dataset[key]))
      && words.every((word) => text(row).includes(word)));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  const total = Number(count.dataset.total);
  count.textContent = shown === total ? `${total} shown` : `${shown} of ${total} shown`;
  clear.hidden = wanted.size === 0;
}

function show(wanted) {
  search.value = wanted.get("q") ?? "";
  if (rule) rule.value = wanted.get("rule") ?? "";
  for (const chip of chips) {
    chip.setAttribute("aria-pressed", wanted.getAll(chip.dataset.key).includes(chip.dataset.value));
  }
  filter();
}

function save() {
  filter();
  history.replaceState(null, "", `#${state()}`);
}

// A hash is either a place in the page or the state of the filters.
function restore() {
  const place = $(location.hash.slice(1));
  if (!place && search) return show(new URLSearchParams(location.hash.slice(1)));
  if (place?.hidden) show(new URLSearchParams());
  if (place?.tagName === "DETAILS") place.open = true;
  place?.scrollIntoView();
}

// The next or the last finding that is shown.
function step(by) {
  const shown = rows.filter((row) => !row.hidden);
  const next = shown[shown.indexOf(document.activeElement?.closest(".finding")) + by] ?? shown[by > 0 ? 0 : shown.length - 1];
  next?.querySelector("summary").focus();
}

if (search) {
  search.addEventListener("input", save);
  rule?.addEventListener("change", save);
  for (const chip of chips) {
    chip.addEventListener("click", () => { chip.setAttribute("aria-pressed", !pressed(chip)); save(); });
  }
  clear.addEventListener("click", () => { show(new URLSearchParams()); save(); search.focus(); });
  expand.addEventListener("click", () => {
    expand.setAttribute("aria-pressed", !pressed(expand));
    for (const row of rows) row.open = pressed(expand);
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, select") || event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === "/" && !typing) { event.preventDefault(); search.focus(); }
    if ((event.key === "j" || event.key === "k") && !typing) step(event.key === "j" ? 1 : -1);
    if (event.key === "Escape" && event.target === search) { search.value = ""; save(); }
  });
  filter();
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const diff = button.nextElementSibling;
    const title = button.textContent;
    try {
      await navigator.clipboard.writeText(diff.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(diff);
      button.textContent = "Selected: copy it with the keyboard";
    }
    setTimeout(() => { button.textContent = title; }, 2000);
  });
}

for (const link of document.querySelectorAll(".permalink")) {
  link.addEventListener("click", () => navigator.clipboard?.writeText(link.href).then(() => { link.textContent = "Link copied"; }, () => {}));
}

// Opens a place in the reader's own checkout. The page knows no path of any machine: the reader says where, once.
function address(ask) {
  let kept = null;
  try { kept = localStorage.getItem("graphdoctor-editor"); } catch { /* asked each time */ }
  if (kept && !ask) return kept;
  const given = prompt("Address that opens a file in your editor, with your checkout in it:", kept ?? "vscode://file/path/to/checkout/{path}:{line}:{column}");
  try { if (given) localStorage.setItem("graphdoctor-editor", given); } catch { /* not kept */ }
  return given;
}

for (const link of document.querySelectorAll(".permalink")) {
  const button = document.createElement("button");
  const [, path, line, column] = link.closest(".finding").querySelector(".meta code").textContent.match(/^(.*):(\d+):(\d+)$/s);
  Object.assign(button, { type: "button", className: "editor", textContent: "Open in the editor", title: "With Shift: change the address" });
  button.addEventListener("click", (event) => {
    const wanted = address(event.shiftKey);
    const parts = { path: encodeURI(path), line, column };
    if (wanted) location.href = wanted.replace(/\{(path|line|column)\}/g, (_, name) => parts[name]);
  });
  link.after(button);
}

let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")].filter((fold) => !fold.closest(".folded"));
  for (const fold of folded) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });
addEventListener("hashchange", () => { restore(); if (!$(location.hash.slice(1))) $("findings")?.scrollIntoView(); });
if (location.hash) restore();
