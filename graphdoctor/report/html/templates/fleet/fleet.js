document.documentElement.classList.add("js");
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("graphdoctor-theme", root.dataset.theme); } catch { /* kept for this page only */ }
});

const body = document.getElementById("rows");
// Read once: the text of a thousand rows is what takes the time.
const rows = [...body.rows].map((row) => ({
  row, text: row.textContent.toLowerCase(), state: row.dataset.state, trend: row.dataset.trend,
  values: [...row.cells].map((cell) => cell.textContent.trim()),
}));
const fields = ["text", "state", "trend"].map((id) => document.getElementById(id)).filter(Boolean);

function apply() {
  const chosen = Object.fromEntries(fields.map((field) => [field.id, field.value]));
  const words = chosen.text.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const each of rows) {
    each.row.hidden = !(words.every((word) => each.text.includes(word))
      && (!chosen.state || each.state === chosen.state) && (!chosen.trend || each.trend === chosen.trend));
    shown += !each.row.hidden;
  }
  document.getElementById("count").value = `${shown} of ${rows.length}`;
}

function sort(heading) {
  const column = heading.cellIndex;
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const sign = down ? -1 : 1;
  const number = heading.dataset.kind === "number";
  rows.sort((a, b) => {
    const [x, y] = [a.values[column], b.values[column]];
    // What has no number stands last, in both directions.
    if (!x || !y) return (x ? 0 : 1) - (y ? 0 : 1);
    return sign * (number ? x.replaceAll(",", "") - y.replaceAll(",", "") : x.localeCompare(y));
  });
  body.append(...rows.map((each) => each.row));
}

for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sort(button.parentElement));
}
const form = document.getElementById("filters");
form.addEventListener("input", apply);
form.addEventListener("submit", (event) => event.preventDefault());
apply();
