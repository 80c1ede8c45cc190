// Charts show the numbers of a point, under the pointer and by the arrow keys: those of
// a row of the table below, whose rows are the points from left to right.
// <div class="plot" data-points="middle|end"> says whether the chart draws a point in
// the middle of its share of the width, or the first and the last one at its ends.

/** Makes the page's charts show their numbers. */
export function charts() {
  for (const plot of document.querySelectorAll("[data-points]")) tell(plot);
}

/** @param {Element} plot */
function tell(plot) {
  const picture = plot.querySelector("svg");
  const rows = [...plot.closest("section")?.querySelectorAll("tbody tr") ?? []];
  if (!picture || !rows.length) return;
  const width = picture.viewBox.baseVal.width;
  const ends = plot.getAttribute("data-points") === "end" ? 1 : 0;
  const steps = rows.length - ends;
  const mark = document.createElementNS(picture.namespaceURI, "path");
  mark.setAttribute("class", "at");
  const told = document.createElement("p");
  told.className = "told";
  told.hidden = true;
  let at = rows.length - 1;

  const hide = () => {
    told.hidden = true;
    mark.remove();
  };
  /** @param {number} point */
  const show = (point) => {
    at = Math.max(0, Math.min(rows.length - 1, point));
    const [name, ...cells] = rows[at].children;
    const text = [name.textContent, ...cells.map((cell) => `${cell.getAttribute("data-label")}: ${cell.textContent}`)];
    const x = (at + (1 - ends) / 2) * width / steps;
    mark.setAttribute("d", `M${x} 0V${picture.viewBox.baseVal.height}`);
    picture.append(mark);
    told.textContent = text.join("\n");
    told.classList.toggle("left", x > width / 2);
    told.hidden = false;
    plot.setAttribute("aria-valuenow", `${at}`);
    plot.setAttribute("aria-valuetext", text.join(", "));
  };

  const named = { role: "slider", tabindex: "0", "aria-label": picture.textContent ?? "", "aria-valuemin": "0", "aria-valuemax": `${rows.length - 1}` };
  for (const [name, value] of Object.entries(named)) plot.setAttribute(name, value);
  plot.append(told);
  show(at);
  hide();

  for (const name of ["pointerdown", "pointermove"]) { // a finger may not move
    plot.addEventListener(name, (event) => {
      const box = picture.getBoundingClientRect();
      if (event instanceof PointerEvent) show(Math.floor((event.clientX - box.left) / box.width * steps + ends / 2));
    });
  }
  plot.addEventListener("pointerleave", () => {
    if (document.activeElement !== plot) hide();
  });
  plot.addEventListener("focus", () => show(at));
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    if (!(event instanceof KeyboardEvent)) return;
    const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Escape") hide();
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
}
