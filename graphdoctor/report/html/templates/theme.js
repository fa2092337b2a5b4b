// Runs before the first paint, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem("graphdoctor-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* storage may be off for local files: the system's theme is used */ }
document.documentElement.classList.add("js");
