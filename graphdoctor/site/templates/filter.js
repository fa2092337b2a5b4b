// Filters the table of rules. Without JavaScript the whole table is there. The choice is kept in the address.
const fields = ["text", "severity", "family", "fixable"].map((id) => document.getElementById(id));
const [text, severity, family, fixable] = fields;
const rows = [...document.querySelectorAll("#rows tr")];

function apply() {
  const words = text.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    row.hidden = !(words.every((word) => content.includes(word))
      && (!severity.value || row.dataset.severity === severity.value)
      && (!family.value || row.dataset.family === family.value)
      && (!fixable.checked || row.dataset.fixable));
    shown += !row.hidden;
  }
  document.getElementById("count").value = `${shown} of ${rows.length}`;
}

function save() {
  const chosen = fields.map((field) => [field.id, field.type === "checkbox" ? (field.checked ? "1" : "") : field.value]);
  const query = new URLSearchParams(chosen.filter(([, value]) => value)).toString();
  history.replaceState(null, "", query ? `#?${query}` : location.pathname);
}

if (location.hash.startsWith("#?")) {
  for (const [id, value] of new URLSearchParams(location.hash.slice(2))) {
    const field = fields.find((one) => one.id === id);
    if (field?.type === "checkbox") field.checked = true; else if (field) field.value = value;
  }
}
const form = document.getElementById("filters");
form.hidden = false;
form.addEventListener("input", () => { apply(); save(); });
form.addEventListener("submit", (event) => event.preventDefault());
apply();
