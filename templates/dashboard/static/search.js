// The keys / and Ctrl-K (on a Mac, Command-K) lead to the search of the menu.
addEventListener("keydown", (event) => {
  const at = event.target;
  const typing = at instanceof HTMLElement && at.matches("input, textarea, select");
  const asked = event.key === "/" ? !typing && !event.ctrlKey && !event.metaKey && !event.altKey : event.key === "k" && (event.ctrlKey || event.metaKey);
  const field = document.querySelector("#menu [data-find]");
  if (!asked || !(field instanceof HTMLInputElement)) return;
  event.preventDefault();
  if (!field.checkVisibility()) document.getElementById("menu")?.showPopover();
  field.focus();
  field.select();
});
