// Shows times in the browser's zone and language; the page has them in UTC.

const full = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

/** @param {ParentNode} root */
export function localTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.getAttribute("datetime") ?? "");
    if (isNaN(at.valueOf())) continue;
    element.setAttribute("title", element.textContent ?? "");
    element.textContent = full.format(at);
  }
}
