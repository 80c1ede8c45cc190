// Shows times in the user's zone, which the page names, and in the page's language;
// without this script they are in UTC. The browser's zone is in a cookie.

const root = document.documentElement;
document.cookie = `agegate-zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/`;
/** @type {Intl.DateTimeFormatOptions} */
const options = {
  timeZone: root.dataset.zone || "UTC",
  year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit",
};
/** @type {Intl.DateTimeFormat[]} */
let [full, exact] = []; // none if the browser does not know the zone
try {
  full = new Intl.DateTimeFormat(root.lang, options);
  exact = new Intl.DateTimeFormat(root.lang, { ...options, second: "2-digit", timeZoneName: "short" });
} catch {}
const since = new Intl.RelativeTimeFormat(root.lang, { numeric: "auto" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const units = [["day", 86_400], ["hour", 3600], ["minute", 60]];

/** Says how long ago a moment was, which a clock that is slow here would put ahead. @param {Date} at */
function ago(at) {
  const seconds = Math.max(0, (Date.now() - at.valueOf()) / 1000);
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["minute", 60]; // "this minute"
  return since.format(-Math.floor(seconds / size), unit);
}

/** @param {ParentNode} part */
export function localTimes(part) {
  if (!full || !exact) return;
  for (const element of part.querySelectorAll("time[datetime]")) {
    const at = new Date(element.getAttribute("datetime") ?? "");
    if (isNaN(at.valueOf())) continue;
    const absolute = (element.hasAttribute("data-exact") ? exact : full).format(at);
    const text = element.hasAttribute("data-ago") ? ago(at) : absolute;
    if (text !== absolute) element.setAttribute("title", exact.format(at));
    else if (!element.hasAttribute("title")) element.setAttribute("title", element.textContent ?? "");
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Offers all zones where one is chosen. */
export function offerZones() {
  const list = document.querySelector("datalist#zones");
  if (!list) return;
  for (const name of ["UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])]) list.append(new Option("", name));
}
