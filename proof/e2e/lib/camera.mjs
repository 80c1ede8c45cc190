// Fake cameras: pictures of the sample face rendered by the repository's own
// clip maker, played by lib/actor.js inside the page.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { patience, root, scratch } from "./gateway.mjs";

const actor = readFileSync(new URL("actor.js", import.meta.url), "utf8");
const rendered = new Map();

/** Runs the clip maker; it says itself what is missing. */
function clip(...args) {
  execFileSync("go", ["run", "./clip", ...args], { cwd: join(root, "proof"), stdio: ["ignore", "ignore", "inherit"], timeout: 2 * patience }); // it may have to be compiled
}

/**
 * Returns what read finds in a directory that render fills, once for each key. If
 * E2E_CLIPS names a directory, the files of one run share what was rendered there.
 */
function once(key, render, read) {
  if (rendered.has(key)) return rendered.get(key);
  const shared = process.env.E2E_CLIPS && join(process.env.E2E_CLIPS, key.replaceAll(/\W/g, "_"));
  if (!shared || !existsSync(shared)) {
    const dir = shared ? mkdtempSync(`${shared}.`) : scratch();
    render(dir);
    rendered.set(key, read(dir));
    try {
      if (shared) renameSync(dir, shared);
    } catch {} // another file was first
    rmSync(dir, { recursive: true, force: true });
  } else rendered.set(key, read(shared));
  return rendered.get(key);
}

const list = (...folder) => readdirSync(join(...folder)).sort();
const read = (...file) => readFileSync(join(...file), "base64");

/**
 * Returns pictures of a head in base64: at rest, swaying a little, and in a grid
 * of poses, each as [yaw, pitch, picture] with degrees from level.
 */
export function pictures(...flags) {
  const render = (dir) => {
    // Little noise, because the camera adds its own to every picture.
    clip("--noise", "1", "--out", dir, "--gesture", "level", ...flags);
    clip("--noise", "1", "--poses", join(dir, "poses"), ...flags);
  };
  return once(["head", ...flags].join(" "), render, (dir) => ({
    level: list(dir, "level").map((file) => read(dir, "level", file)),
    poses: list(dir, "poses").map((file) => [...file.replace(".jpg", "").split(",").map(Number), read(dir, "poses", file)]),
  }));
}

/**
 * Returns the pictures of a held passport with the portrait of the face: under
 * "document" at rest, and under each prompt. flags are --birth, --expiry and
 * --stranger.
 */
export function passport(...flags) {
  const render = (dir) => clip("--noise", "1", "--out", dir, "--passport", ...flags);
  const folder = (dir, name) => [name, list(dir, name).map((file) => read(dir, name, file))];
  return once(["passport", ...flags].join(" "), render, (dir) => Object.fromEntries(list(dir).map((name) => folder(dir, name))));
}

/** Renders a video file for Chromium's own fake device. */
export const video = (file, script) => clip("--video", file, "--script", script);

/**
 * Puts a person before the camera of the pages that a context opens from now
 * on. What the person does can be changed:
 *   pictures  what the person looks like, see pictures()
 *   passport  held to the camera while the page films a document, see passport()
 *   reply     prompt → gesture made instead of the one asked for
 *   reaction  seconds until the person moves
 *   movement  seconds that it takes to go from one direction to the next
 *   abrupt    gestures without the way there
 *   still     a picture held to the camera, with a little shaking
 *   frozen    the same picture, bit for bit
 *   stranger  pictures of somebody else, who makes the gestures
 *   places    [x, y, w, h] of each copy of the person; none: an empty room
 *   filter    CSS filter over the picture
 *   refusal   name of the DOMException that getUserMedia rejects with
 *   devices   labels of the cameras
 *   size      [width, height] of the camera's pictures
 *   rate      of them a second
 *   canary    text to hide in every JPEG that is sent
 *   tape      JPEGs in base64 that are sent instead of the camera's
 */
export async function perform(target, options = {}) {
  const { pictures: own = pictures(), stranger, passport, ...config } = { reply: {}, ...options };
  const heads = { own, stranger, passport };
  await target.addInitScript(`window.__actor = ${JSON.stringify({ heads, ...config })};\n${actor}`);
}

/** Changes what the person before a page's camera does, also after another page was loaded. */
export const direct = (page, options) =>
  page.evaluate((changed) => {
    Object.assign(window.__actor, changed);
    const earlier = JSON.parse(sessionStorage.getItem("directions"));
    sessionStorage.setItem("directions", JSON.stringify({ ...earlier, ...changed }));
  }, options);

/** The camera is pulled out. */
export const unplug = (page) =>
  page.evaluate(() => {
    for (const track of window.__streams.at(-1).stream.getTracks()) {
      track.stop();
      track.dispatchEvent(new Event("ended"));
    }
  });

/** Whether the page holds a running camera. */
export const isFilming = (page) => page.evaluate(() => window.__streams.some(({ stream }) => stream.active));
