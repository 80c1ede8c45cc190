// A phone's camera, simulated: frames of a code on a screen, as a hand holds the
// phone, and whether zbar reads them. The same number always gives the same frame.
import { scanGrayBuffer } from "@undecaf/zbar-wasm";

/** How many frames a code is shown in. */
export const frameCount = 60;

const width = 960;
const height = 720;

/** Numbers from 0 to 1 from a seed (mulberry32). */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns how points of the frame lie on the screen, in parts of the picture's
 * side: the pose of a hand that holds the phone at an angle.
 */
function pose(between) {
  const side = height * between(0.6, 0.85); // of the picture in the frame
  const [yaw, pitch, roll] = [between(-0.12, 0.12), between(-0.12, 0.12), between(-0.2, 0.2)];
  const [left, top] = [width / 2 + between(-40, 40), height / 2 + between(-30, 30)];
  const far = 2.2; // distance of the camera, in sides of the picture
  const [sy, cy, sp, cp, sr, cr] = [yaw, pitch, roll].flatMap((angle) => [Math.sin(angle), Math.cos(angle)]);
  // The screen's axes as the camera sees them: turned about the vertical, the
  // horizontal, and then the camera's own axis.
  const turned = (x, y, z) => [cr * x - sr * y, sr * x + cr * y, z];
  const right = turned(cy, sy * sp, -sy * cp);
  const down = turned(0, cp, sp);
  const normal = [right[1] * down[2] - right[2] * down[1], right[2] * down[0] - right[0] * down[2], right[0] * down[1] - right[1] * down[0]];
  // A ray through a pixel meets the screen at a fraction of two linear terms.
  const along = far * normal[2];
  const line = (axis) => [axis[0] / side / far, axis[1] / side / far, axis[2] - (axis[0] * left + axis[1] * top) / side / far];
  return { x: line(right), y: line(down), over: line(normal), along, origin: [0.5 - far * right[2], 0.5 - far * down[2]] };
}

/** Blurs along one direction with the given weights, whose middle is the pixel itself. */
function spread(from, weights, step) {
  const to = new Float32Array(from.length);
  const reach = (weights.length - 1) / 2;
  for (let i = 0; i < from.length; i++) {
    let sum = 0;
    for (let k = 0; k < weights.length; k++) {
      const at = i + (k - reach) * step;
      sum += weights[k] * from[at < 0 ? 0 : at >= from.length ? from.length - 1 : at];
    }
    to[i] = sum;
  }
  return to;
}

/** The weights of a bell curve. */
function bell(sigma) {
  const reach = Math.ceil(3 * sigma);
  const weights = Array.from({ length: 2 * reach + 1 }, (_, i) => Math.exp(-((i - reach) ** 2) / (2 * sigma * sigma)));
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((w) => w / sum);
}

/**
 * Returns the nth frame of a picture: grey values of a screen with the picture, in
 * perspective, out of focus, moved, exposed and noisy.
 * @param {{ side: number, grey: Uint8Array }} picture a square one, as a screen shows it
 */
export function frame(picture, n) {
  const random = numbers(1000 + n);
  const between = (low, high) => low + (high - low) * random();
  const { x, y, over, along, origin } = pose(between);
  const { side, grey } = picture;
  let light = new Float32Array(width * height);
  const fine = 2; // rays a pixel, in both directions
  for (let i = 0; i < light.length; i++) {
    let sum = 0;
    for (let k = 0; k < fine * fine; k++) {
      const column = (i % width) + ((k % fine) + 0.5) / fine;
      const row = Math.floor(i / width) + (Math.floor(k / fine) + 0.5) / fine;
      const scale = along / (over[0] * column + over[1] * row + over[2]);
      const u = Math.floor(side * (origin[0] + scale * (x[0] * column + x[1] * row + x[2])));
      const v = Math.floor(side * (origin[1] + scale * (y[0] * column + y[1] * row + y[2])));
      sum += u < 0 || v < 0 || u >= side || v >= side ? 235 : grey[v * side + u];
    }
    light[i] = sum / (fine * fine);
  }
  const focus = bell(between(0.6, 1.4));
  light = spread(spread(light, focus, 1), focus, width);
  const moved = 2 * Math.floor(between(0, 2)) + 1; // pixels during the exposure
  light = spread(light, Array(moved).fill(1 / moved), random() < 0.5 ? 1 : width);
  const [gain, black, tilt, noise] = [between(0.6, 1.05), between(5, 40), between(-0.2, 0.2), between(1, 5)];
  const seen = new Uint8Array(width * height);
  for (let i = 0; i < seen.length; i++) {
    const uneven = 1 + tilt * ((i % width) / width - 0.5);
    const grain = noise * (random() + random() + random() - 1.5) * 2; // nearly a bell curve of this deviation
    seen[i] = Math.max(0, Math.min(255, black + light[i] * gain * uneven * (1 - black / 255) + grain));
  }
  return seen;
}

/** Whether zbar reads the text in the nth frame of a picture. */
export async function reads(picture, n, text) {
  const symbols = await scanGrayBuffer(frame(picture, n).buffer, width, height);
  return symbols.some((symbol) => symbol.decode() === text);
}
