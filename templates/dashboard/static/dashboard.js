// What makes the pages handier where scripts run; everything works without.
import { charts } from "./chart.js";
import "./branding.js";
import "./copy.js";
import "./dialog.js";
import "./form.js";
import { added, live } from "./live.js";
import { passkeys } from "./passkey.js";
import "./search.js";
import { keepTimes, localTimes, offerZones } from "./time.js";

added(localTimes);
charts();
localTimes(document);
keepTimes();
offerZones();
live();
passkeys();

for (const button of document.querySelectorAll("[data-prints]")) {
  button.removeAttribute("hidden");
  button.addEventListener("click", () => print());
}

// Details that are printed are opened for it.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details[data-print]")) details.setAttribute("open", "");
});
