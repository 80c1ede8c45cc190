// What makes the pages handier where scripts run; everything works without.
import { charts } from "./chart.js";
import "./copy.js";
import "./dialog.js";
import "./form.js";
import { added, live } from "./live.js";
import { passkeys } from "./passkey.js";
import { localTimes } from "./time.js";

added(localTimes);
charts();
localTimes(document);
live();
passkeys();
