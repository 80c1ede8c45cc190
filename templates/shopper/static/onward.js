// Shows that the age is confirmed for a moment, then leads on.
import { element } from "./dom.js";

/** Time to see the sign and read the heading, in milliseconds. */
const moment = 800;
const page = element("onward", HTMLElement);

// This page stays in view until the next one answers, about as long as it took
// to answer itself, so that a slow network makes the moment no longer. A server
// that was slow once may be quick the next time, so half of it is kept.
const [visit] = performance.getEntriesByType("navigation");
const answer = visit instanceof PerformanceNavigationTiming ? visit.responseStart - visit.requestStart : 0;

setTimeout(() => location.replace(page.dataset.link ?? ""), Math.max(moment / 2, moment - answer));
