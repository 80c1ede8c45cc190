// Shows times in the user's zone, which the page names, and in the page's language;
// without this script they are in UTC.

const root = document.documentElement;
/** @type {Intl.DateTimeFormatOptions} */
const options = {
  timeZone: root.dataset.zone || "UTC", timeZoneName: "short",
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
};
const [full, exact] = formats();

/** @returns {Intl.DateTimeFormat[]} */
function formats() {
  try {
    return [options, { ...options, second: "2-digit" }].map((chosen) => new Intl.DateTimeFormat(root.lang, /** @type {Intl.DateTimeFormatOptions} */ (chosen)));
  } catch {
    return []; // the browser does not know the zone
  }
}

/** @param {ParentNode} part */
export function localTimes(part) {
  if (!full || !exact) return;
  for (const element of part.querySelectorAll("time[datetime]")) {
    const at = new Date(element.getAttribute("datetime") ?? "");
    if (isNaN(at.valueOf())) continue;
    element.setAttribute("title", element.textContent ?? "");
    element.textContent = (element.hasAttribute("data-exact") ? exact : full).format(at);
  }
}

/** Offers the browser's zone first, and all others, where a zone is chosen. */
export function offerZones() {
  const list = document.querySelector("datalist#zones");
  if (!list) return;
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const name of new Set([own, "UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])])) {
    const option = document.createElement("option");
    option.value = name;
    list.append(option);
  }
}
