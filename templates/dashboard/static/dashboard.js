// What makes the pages handier where scripts run; everything works without.
import "./copy.js";
import "./form.js";
import { added, live } from "./live.js";
import { passkeys } from "./passkey.js";
import { localTimes } from "./time.js";

added(localTimes);
localTimes(document);
live();
passkeys();
