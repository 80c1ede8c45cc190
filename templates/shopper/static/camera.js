// The camera step: which screen is shown, and how every failure goes on.
import { openCamera, cameras, photographer, problemOf, stillness } from "./media.js";
import { openStream } from "./stream.js";

const page = document.getElementById("camera");
const video = document.getElementById("preview");
const picker = document.getElementById("cameras");
const stage = document.getElementById("stage");
const cue = document.getElementById("cue");
const texts = new Map([...document.getElementById("texts").content.children].map((e) => [e.dataset.key, e.textContent]));
const take = photographer(video);

// Close codes of the server, see internal/shopper/stream.go.
const closed = { reload: 4000, takenOver: 4001, idle: 4002, spent: 4003, tryLater: 1013 };

/** A camera that shows the very same picture for so many milliseconds is frozen. */
const frozenAfter = 6000;

let media = null; // the open MediaStream
let turn = 0; // counts the times that the camera was opened or stopped
let stream = null; // the open connection
let camera = ""; // id of the chosen camera
let failures = 0; // connections in a row that never worked
let reached = false; // the server answered in spite of them
let retry = 0; // timer of the next connection
let phase = ""; // of the check, as the server last told it
let stillFor = null; // tells for how long the open camera's picture has not changed
let current = "";

function show(name) {
  if (name === current) return;
  current = name;
  page.dataset.state = name;
  for (const section of page.querySelectorAll("[data-screen]")) section.hidden = section.dataset.screen !== name;
  page.querySelector(`[data-screen="${name}"] h1`)?.focus({ preventScroll: true });
}

function stop() {
  turn++;
  clearTimeout(retry);
  stream?.stop();
  stream = null;
  for (const track of media?.getTracks() ?? []) {
    track.onended = null;
    track.stop();
  }
  media = null;
  video.srcObject = null;
}

/** Leaves for the page of the session's state, whatever it is now: the camera's leads on to it. */
function leave() {
  show("processing");
  stop();
  location.replace(page.dataset.link);
}

async function start() {
  stop();
  const mine = turn;
  failures = 0;
  reached = false;
  // A browser that has the permission already shows no question.
  const question = setTimeout(() => show("asking"), 300);
  let opened;
  try {
    opened = await openCamera(camera);
  } catch (error) {
    if (mine === turn) show(problemOf(error));
    return;
  } finally {
    clearTimeout(question);
  }
  if (mine !== turn) {
    // Asked for twice, or no longer wanted.
    for (const track of opened.getTracks()) track.stop();
    return;
  }
  media = opened;
  const [track] = media.getVideoTracks();
  track.onended = () => {
    stop();
    camera = "";
    show("unplugged");
  };
  video.srcObject = media;
  stillFor = stillness(video);
  show("live");
  await video.play().catch(() => {}); // muted inline video may play; if not, no picture comes and the server says so
  await listCameras(track.getSettings().deviceId);
  connect();
}

async function listCameras(used) {
  const found = await cameras();
  document.getElementById("picker").hidden = found.length < 2;
  picker.replaceChildren(...found.map((device, i) => new Option(device.label || `${texts.get("camera")} ${i + 1}`, device.deviceId, false, device.deviceId === used)));
}

function connect() {
  clearTimeout(retry);
  stream?.stop();
  phase = "";
  progress(0, 1);
  stream = openStream(page.dataset.stream, take, {
    guidance(message) {
      failures = 0;
      reached = false;
      phase = message.phase;
      if (stillFor() > frozenAfter) {
        stop();
        show("frozen");
        return;
      }
      show("live");
      guide(message);
    },
    reload: end,
    close: lost,
  });
}

/**
 * Goes on after the server ended the check. When nothing had begun, there is no
 * result to see: the shopper is told to try again.
 */
function end() {
  if (phase !== "framing") {
    leave();
    return;
  }
  stop();
  document.getElementById("again").hidden = false;
  show("primer");
}

/** Goes on after the connection ended by itself. */
function lost(code, lived) {
  stream = null;
  failures = lived ? 0 : failures + 1;
  switch (code) {
    case closed.reload:
    case closed.spent:
      leave();
      return;
    case closed.takenOver:
      stop();
      show("other_tab");
      return;
    case closed.tryLater:
      show("waiting");
      retry = setTimeout(connect, 3000 + Math.random() * 2000);
      return;
    case closed.idle:
      connect();
      return;
  }
  show("network");
  retry = setTimeout(reconnect, Math.min(8000, 500 * 2 ** failures));
}

/**
 * Tries the connection again. When the server answers but still refuses the
 * stream, the page of the session's state knows why.
 */
async function reconnect() {
  if (failures >= 3) {
    try {
      await fetch(page.dataset.link, { method: "HEAD", redirect: "manual", cache: "no-store" });
      if (reached) {
        leave();
        return;
      }
      reached = true;
    } catch {
      // Still no network.
    }
  }
  connect();
}

let lastSeen = "";
let lastShown = "";

/**
 * Shows what to do: a prompt at once, anything else when two answers in a row
 * agree, so that texts do not flicker.
 */
function guide({ guidance, prompt, done, total }) {
  const good = guidance === "ok";
  const key = good && prompt ? `prompt.${prompt}` : guidance;
  stage.classList.toggle("good", good);
  progress(done, total);
  const settled = key === lastSeen || lastShown === "" || key.startsWith("prompt.");
  lastSeen = key;
  if (!settled || key === lastShown) return;
  lastShown = key;
  document.getElementById("guidance-text").textContent = texts.get(key) ?? texts.get("hold_still");
  document.getElementById("guidance-icon").replaceChildren(icon(key));
  cue.dataset.side = sides[key] ?? "";
  cue.replaceChildren(...(sides[key] ? [icon(key)] : []));
}

function progress(done, total) {
  document.getElementById("progress").style.strokeDasharray = `${Math.round((100 * done) / Math.max(1, total))} 100`;
}

// Strokes on a 24×24 grid; keys without one show the oval.
const strokes = {
  ok: "M5 12.500l4.500 4.500L19 7.500",
  "prompt.hold_still": "M5 12.500l4.500 4.500L19 7.500",
  too_far: "M4 4l5 5M20 4l-5 5M4 20l5-5M20 20l-5-5M9 5v4H5M15 5v4h4M9 19v-4H5M15 19v-4h4",
  "prompt.come_closer": "M4 4l5 5M20 4l-5 5M4 20l5-5M20 20l-5-5M9 5v4H5M15 5v4h4M9 19v-4H5M15 19v-4h4",
  too_close: "M9 9L4 4M15 9l5-5M9 15l-5 5M15 15l5 5M4 8V4h4M20 8V4h-4M4 16v4h4M20 16v4h-4",
  too_dark: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  too_bright: "M20 14a8 8 0 11-9-10 6.500 6.500 0 009 10z",
  "prompt.turn_left": "M11 5l-7 7 7 7M4 12h16",
  "prompt.turn_right": "M13 5l7 7-7 7M20 12H4",
  "prompt.look_up": "M5 11l7-7 7 7M12 4v16",
  several_faces: "M8 11a3 3 0 100-6 3 3 0 000 6zM16 11a3 3 0 100-6M2.500 19c.6-3.300 2.700-5 5.500-5s4.900 1.700 5.500 5M16 14c2.800 0 4.900 1.700 5.500 5",
};
// Where in the preview the sign of a prompt stands.
const sides = { "prompt.turn_left": "left", "prompt.turn_right": "right", "prompt.look_up": "top", "prompt.come_closer": "bottom" };
const oval = "M12 3c-4 0-6.500 3.700-6.500 9s2.900 9 6.500 9 6.500-3.700 6.500-9-2.500-9-6.500-9z";

function icon(key) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", strokes[key] ?? oval);
  svg.append(path);
  return svg;
}

for (const button of page.querySelectorAll('[data-do="open"]')) {
  button.disabled = false; // the primer's is, until somebody listens
  button.addEventListener("click", () => (media ? connect() : start()));
}
picker.addEventListener("change", () => {
  camera = picker.value;
  start();
});
document.addEventListener("visibilitychange", () => {
  // Nobody is looking: the camera goes off, and on again with the page.
  if (document.hidden && media) {
    stop();
    page.dataset.paused = "true";
  } else if (!document.hidden && page.dataset.paused) {
    delete page.dataset.paused;
    start();
  }
});
window.addEventListener("offline", () => {
  if (current !== "live") return;
  clearTimeout(retry);
  stream?.stop();
  stream = null;
  show("network");
});
window.addEventListener("online", () => {
  if (current === "network") connect();
});
window.addEventListener("pagehide", stop);
window.addEventListener("pageshow", (event) => {
  if (event.persisted) leave();
});

show("primer");
