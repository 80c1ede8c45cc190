// Shows times in the browser's zone and language; the page has them in UTC.

const full = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" });

/** @param {ParentNode} root */
export function localTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.getAttribute("datetime") ?? "");
    if (isNaN(at.valueOf())) continue;
    element.setAttribute("title", element.textContent ?? "");
    element.textContent = (element.hasAttribute("data-exact") ? exact : full).format(at);
  }
}
