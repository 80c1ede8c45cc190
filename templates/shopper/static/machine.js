// The camera step as a state machine: its states, its events, and which event
// leads from which state to which. What a state does is in camera.js.

/**
 * @typedef {"missing" | "refused" | "in_use" | "insecure" | "embedded" | "failed"} Problem
 *   why a camera did not open
 * @typedef {"primer" | "opening" | "starting" | "connecting" | "queued" | "live" | "again" | "waiting" | "network" | "probing"
 *   | "paused" | "away" | "leaving" | "unplugged" | "frozen" | "unreadable" | "blocked" | "other_tab"
 *   | Problem} State
 * @typedef {Problem
 *   | "open" | "picked"          // the screen's button; another camera was chosen
 *   | "opened" | "playing"       // the camera runs; the preview shows it
 *   | "unplugged" | "frozen"     // it is gone; it keeps showing the same picture
 *   | "unreadable" | "blocked"   // the browser does not hand over its pictures; the network
 *   | "queued" | "answered"      // the server has no place yet; it takes pictures
 *   | "again" | "unframed"       // it asks for the face again; it ended what had not begun
 *   | "moved" | "taken_over"     // the session has moved on; another tab goes on
 *   | "busy" | "lost"            // no place even in line; the connection ended by itself
 *   | "retry" | "probe" | "probed" // time to connect; to ask whether the server is there; it was asked
 *   | "offline" | "online" | "hidden" | "shown" // the browser; the tab
 *   | "pagehide" | "restored"    // into and out of the browser's cache
 * } CameraEvent
 * @typedef {object} Rule
 * @property {string} [screen] of the state; without one, the last stays
 * @property {boolean} [camera] runs on; otherwise it is switched off
 * @property {boolean} [stream] runs on; otherwise it is closed
 * @property {Partial<Record<CameraEvent, State>>} on what each event leads to; others change nothing
 */

/** @type {Rule["on"]} */
const always = { pagehide: "away", restored: "leaving" };
/** @type {Rule["on"]} */
const filming = { ...always, hidden: "paused", unplugged: "unplugged", unreadable: "unreadable", picked: "opening" };
/** @type {Rule["on"]} */
const problems = {
  missing: "missing", refused: "refused", in_use: "in_use", insecure: "insecure", embedded: "embedded", failed: "failed",
};
/** @type {Rule["on"]} */
const connected = {
  ...filming, ...problems, queued: "queued", frozen: "frozen", unframed: "primer", moved: "leaving", taken_over: "other_tab",
  busy: "waiting", lost: "network", offline: "network",
};
/** @type {Rule["on"]} */
const streaming = { ...connected, answered: "live", again: "again" };
/** @type {Rule["on"]} */
const closed = { ...always, open: "opening" };

/** @type {Readonly<Record<State, Rule>>} */
export const rules = {
  primer: { screen: "primer", on: closed },
  opening: { on: { ...closed, ...problems, opened: "starting" } },
  starting: { screen: "live", camera: true, on: { ...filming, playing: "connecting", offline: "network" } },
  connecting: { camera: true, stream: true, on: streaming },
  queued: { screen: "queue", camera: true, stream: true, on: streaming },
  live: { screen: "live", camera: true, stream: true, on: streaming },
  again: { screen: "again", camera: true, stream: true, on: { ...connected, open: "live" } },
  waiting: { screen: "waiting", camera: true, on: { ...filming, open: "connecting", retry: "connecting" } },
  network: { screen: "network", camera: true, on: { ...filming, open: "connecting", online: "connecting", retry: "connecting", probe: "probing" } },
  probing: { camera: true, on: { ...filming, open: "connecting", online: "connecting", probed: "connecting", moved: "leaving", blocked: "blocked" } },
  paused: { on: { ...always, shown: "opening" } },
  away: { on: always },
  leaving: { screen: "processing", on: always },
  missing: { screen: "missing", on: closed },
  refused: { screen: "refused", on: closed },
  in_use: { screen: "in_use", on: closed },
  insecure: { screen: "insecure", on: closed },
  embedded: { screen: "embedded", on: closed },
  failed: { screen: "failed", on: closed },
  blocked: { screen: "blocked", on: closed },
  unplugged: { screen: "unplugged", on: closed },
  frozen: { screen: "frozen", on: closed },
  unreadable: { screen: "unreadable", on: closed },
  other_tab: { screen: "other_tab", on: closed },
};

/**
 * Runs the machine: enter is called for each state entered, also from itself. Returns
 * send(event), and current(), which every state entered changes: what was begun in a
 * state compares it before it sends its result.
 * @param {State} first
 * @param {(state: State, event: CameraEvent | null) => void} enter
 */
export function start(first, enter) {
  let state = first;
  let entries = 0;
  /** @param {CameraEvent} event */
  const send = (event) => {
    const next = rules[state].on[event];
    if (!next) return;
    state = next;
    entries++;
    enter(state, event);
  };
  enter(state, null);
  return { send, current: () => entries };
}
