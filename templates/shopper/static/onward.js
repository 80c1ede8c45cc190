// Shows that the age is confirmed for a moment, then leads on.
import { element } from "./dom.js";

/** Time to read the heading, in milliseconds. */
const moment = 1200;
const page = element("onward", HTMLElement);

setTimeout(() => location.replace(page.dataset.link ?? ""), moment);
