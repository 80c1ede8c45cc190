// The camera step: what each state of the machine does, and where its events
// come from.
import { element } from "./dom.js";
import { offerTime, onMoreTime, withdrawTime } from "./extend.js";
import { begin, guide, remark, text } from "./guide.js";
import { rules, start } from "./machine.js";
import { openCamera, cameras, photographer, problemOf, readsBack, stillness } from "./media.js";
import { signal, sound } from "./signal.js";
import { openStream, patience } from "./stream.js";

/**
 * @typedef {import("./machine.js").State} State
 * @typedef {import("./machine.js").CameraEvent} CameraEvent
 * @typedef {import("./media.js").Film} Film
 */

const page = element("camera", HTMLElement);
const stage = element("stage", HTMLElement);
const video = element("preview", HTMLVideoElement);
const picker = element("cameras", HTMLSelectElement);
const soundSwitch = element("sound", HTMLButtonElement);
const line = element("place", HTMLElement);
const ready = element("ready", HTMLElement);
const title = element("title", HTMLElement);
const photograph = photographer(video, () => check.film);

/** What a check begins with. @type {Film} */
const firstFilm = page.dataset.film === "document" ? "document" : "face";

/**
 * What the close codes of the server mean, see internal/pages/shopper/stream.go.
 * @type {Record<number, CameraEvent>}
 */
const closings = { 4000: "moved", 4001: "taken_over", 4003: "moved", 1013: "busy" };

/** A camera that shows the very same picture for so many milliseconds is frozen. */
const frozenAfter = 6000;

/** The same for no picture that can be sent. */
const unreadableAfter = 10_000;

/** After more connections that never worked, something on the way is the cause. */
const enough = 3;

/** What a state may hold, and what is remembered from one to the next. */
const check = {
  /** @type {MediaStream | null} */
  media: null,
  /** @type {ReturnType<typeof openStream> | null} */
  stream: null,
  /** @type {number | undefined} */
  timer: undefined,
  film: firstFilm,
  cameraId: "", // of the chosen camera; empty: the one for what is filmed
  failures: 0, // connections in a row that never worked
  reached: false, // the server answered a probe in spite of them
  stillFor: () => 0, // milliseconds for which the camera's picture has not changed
  takenAt: 0, // when the last picture was taken, or the server first wanted one; 0: none is wanted
};

/** @type {Partial<Record<State, (event: CameraEvent | null) => void>>} */
const effects = {
  opening: open,
  starting: play,
  connecting: connect,
  live: goOn,
  again: () => later("open", 45_000), // time to read; the server waits a little longer
  waiting: () => later("retry", 3000 + Math.random() * 2000),
  network: () => later(check.failures > 0 ? "probe" : "retry", Math.min(8000, 500 * 2 ** check.failures)),
  probing: probe,
  // The camera's page leads on to the page of the session's state, whatever it is now.
  leaving: () => location.replace(page.dataset.link ?? ""),
};

/**
 * Enters a state: shows its screen, lets go what it does not hold, does its work.
 * @param {State} state
 * @param {CameraEvent | null} event
 */
function enter(state, event) {
  const rule = rules[state];
  clearTimeout(check.timer);
  if (rule.screen) show(rule.screen);
  if (!rule.stream) closeStream();
  if (!rule.camera) closeCamera();
  effects[state]?.(event);
}

/** @param {string} name */
function show(name) {
  if (name === page.dataset.state) return;
  page.dataset.state = name;
  for (const section of page.querySelectorAll("[data-screen]")) {
    if (section instanceof HTMLElement) section.hidden = section.dataset.screen !== name;
  }
  const heading = page.querySelector(`[data-screen="${name}"] h1`);
  window.scrollTo(0, 0); // the picture and the guidance begin at the top
  if (!(heading instanceof HTMLElement)) return;
  heading.focus({ preventScroll: true });
  document.title = heading.textContent ?? "";
  // The shop's support sees what is wrong with the camera.
  if ("told" in heading.dataset) navigator.sendBeacon?.(page.dataset.stream?.replace(/\/stream.*/, `/trouble/${name}`) ?? "");
}

/**
 * Sends an event after a time, unless another state is entered before.
 * @param {CameraEvent} event
 * @param {number} delay in milliseconds
 */
function later(event, delay) {
  check.timer = window.setTimeout(() => machine.send(event), delay);
}

function closeStream() {
  begin();
  withdrawTime();
  check.stream?.stop();
  check.stream = null;
}

function closeCamera() {
  for (const track of check.media?.getTracks() ?? []) {
    track.onended = null;
    track.stop();
  }
  check.media = null;
  video.srcObject = null;
}

async function open() {
  const entry = machine.current();
  check.failures = 0;
  check.reached = false;
  check.takenAt = 0;
  // A browser that has the permission already shows no question.
  check.timer = window.setTimeout(() => show("asking"), 300);
  if (check.film !== firstFilm) check.cameraId = "";
  films(firstFilm);
  if (await hold(() => entry === machine.current())) machine.send("opened");
}

// The outline lies over all of the camera's picture, whatever its form.
video.addEventListener("resize", () => {
  document.getElementById("outline")?.setAttribute("viewBox", `0 0 ${video.videoWidth || 3} ${video.videoHeight || 4}`);
});

/**
 * Opens the camera for what is filmed and shows its picture. Reports false when
 * it is no longer wanted, or did not open: the machine then receives the reason.
 * @param {() => boolean} wanted
 */
async function hold(wanted) {
  let media;
  try {
    media = await openCamera(check.cameraId, check.film);
  } catch (error) {
    if (wanted()) machine.send(problemOf(error));
    return false;
  }
  if (!wanted()) {
    for (const track of media.getTracks()) track.stop();
    return false;
  }
  check.media = media;
  const [track] = media.getVideoTracks();
  track.onended = () => {
    check.cameraId = "";
    machine.send("unplugged");
  };
  video.srcObject = media;
  check.stillFor = stillness(video);
  return true;
}

/**
 * Sets what is filmed.
 * @param {Film} film
 */
function films(film) {
  if (film !== check.film) document.title = title.textContent = text(`title.${film}`);
  check.film = film;
  stage.dataset.film = film;
}

/**
 * Says why the face gave no result. The stream stays open: the server would forget the
 * document with it.
 * @param {string} why
 */
function explain(why) {
  begin(text("title.face"));
  const words = text(`again.${why}`);
  element("why", HTMLElement).textContent = words;
  check.stream?.hold(true);
  machine.send("again");
  remark(words);
}

/** @param {CameraEvent | null} event */
function goOn(event) {
  if (event !== "open") return;
  check.takenAt = performance.now();
  check.stream?.hold(false);
}

/**
 * Goes on with the camera for what the server asks to be filmed now, while the
 * stream runs on. A device with one camera has it for both.
 * @param {Film} film
 */
async function turn(film) {
  films(film);
  begin(film === "face" ? text("show_face") : undefined); // no prompt of the last stage stays
  if (film === "face") remark(text("show_face"));
  if (picker.options.length < 2) return;
  check.cameraId = "";
  await swap();
}

/** Opens another camera while the stream runs on. */
async function swap() {
  const stream = check.stream;
  closeCamera();
  if (!(await hold(() => stream !== null && stream === check.stream))) return;
  offerCameras();
  await video.play().catch(() => {});
}

/**
 * Takes a picture. Without one for too long, the browser is the cause.
 * @param {number} share
 * @param {boolean} decides
 */
async function take(share, decides) {
  const picture = await photograph(share, decides);
  if (picture || !video.videoWidth) check.takenAt = performance.now(); // a camera without a picture is another matter
  else if (performance.now() - check.takenAt > unreadableAfter) machine.send("unreadable");
  return picture;
}

/** The stream opens meanwhile: it waits for the first picture by itself. */
function play() {
  readsBack().then((readable) => readable || machine.send("unreadable"), () => machine.send("unreadable"));
  video.play().catch(() => {}); // muted inline video may play; if not, no picture comes and the server says so
  offerCameras();
  machine.send("playing");
}

async function offerCameras() {
  const used = check.cameraId || check.media?.getVideoTracks()[0].getSettings().deviceId;
  const found = await cameras();
  element("picker", HTMLElement).hidden = found.length < 2;
  picker.replaceChildren(...found.map((device, i) =>
    new Option(device.label || `${text("camera")} ${i + 1}`, device.deviceId, false, device.deviceId === used)));
}

function connect() {
  closeStream();
  /** @type {Parameters<typeof openStream>[2]} */
  const heard = {
    queue(place) {
      check.failures = 0;
      check.takenAt = 0;
      machine.send("queued");
      const words = (line.dataset.text ?? "").replace("%n", place.toLocaleString(document.documentElement.lang));
      if (line.textContent !== words) line.textContent = words; // what is the same is not announced again
    },
    begin() {
      check.takenAt ||= performance.now(); // the server also closes a stream without pictures
      machine.send("answered");
    },
    guidance(answer) {
      check.failures = 0;
      check.reached = false;
      if (page.dataset.state === "again") return;
      if (answer.again) return explain(answer.again);
      if (check.stillFor() > frozenAfter) return machine.send("frozen");
      machine.send("answered");
      if ((answer.stage === "document" || answer.stage === "face") && answer.stage !== check.film) turn(answer.stage);
      guide(answer);
      offerTime(answer);
    },
    end(next, refused) {
      if (refused) page.dataset.link += `${page.dataset.link?.includes("?") ? "&" : "?"}refused=${refused}`;
      if (next !== "retry") return machine.send("moved");
      for (const part of page.querySelectorAll("[data-again]")) part.toggleAttribute("hidden", false);
      ready.textContent = ready.dataset.retry ?? "";
      machine.send("unframed");
    },
    close(code, lived) {
      check.failures = lived ? 0 : check.failures + 1;
      machine.send(closings[code] ?? "lost");
    },
  };
  try {
    check.stream = openStream(page.dataset.stream ?? "", take, heard, firstFilm === "document" ? 2 * patience : patience);
  } catch {
    machine.send("failed"); // a browser without WebSockets
  }
}

/**
 * Asks for the camera's page. If the server refuses a stream again, the page of the session's
 * state knows why; if that is this page, something on the way lets none through.
 */
async function probe() {
  const entry = machine.current();
  const answer = await fetch(page.dataset.link ?? "", { method: "HEAD", redirect: "manual", cache: "no-store" })
    .catch(() => null); // still no network
  if (entry !== machine.current()) return;
  const refused = answer && (answer.status === 403 || (check.reached && check.failures > enough));
  check.reached ||= answer !== null;
  machine.send(!refused ? "probed" : answer.ok ? "blocked" : "moved");
}

const machine = start("primer", enter);

for (const button of page.querySelectorAll('button[data-do="open"]')) {
  if (button instanceof HTMLButtonElement) button.disabled = false; // the primer's is, until somebody listens
  button.addEventListener("click", () => {
    machine.send("open");
    sound(soundSwitch.getAttribute("aria-pressed") === "true");
  });
}
onMoreTime(() => check.stream?.moreTime());
soundSwitch.addEventListener("click", () => {
  const on = soundSwitch.getAttribute("aria-pressed") !== "true";
  soundSwitch.setAttribute("aria-pressed", String(on));
  sound(on);
  if (on) signal("prompt"); // so that it is known, and known to be heard
});
picker.addEventListener("change", () => {
  check.cameraId = picker.value;
  // What was read of a document must not be lost with the stream.
  if (check.stream && firstFilm === "document") swap();
  else machine.send("picked");
});
// Nobody is looking at a hidden tab: the camera goes off, and on again with the tab.
document.addEventListener("visibilitychange", () => machine.send(document.hidden ? "hidden" : "shown"));
window.addEventListener("offline", () => machine.send("offline"));
window.addEventListener("online", () => machine.send("online"));
window.addEventListener("pagehide", () => machine.send("pagehide"));
window.addEventListener("pageshow", (event) => {
  if (event.persisted) machine.send("restored");
});
