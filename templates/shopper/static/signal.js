// Signals for a person whose head is turned away from the screen: a short
// vibration where the device can, and tones unless they are switched off.

/** @typedef {"prompt" | "wrong" | "done"} Signal */

/**
 * Milliseconds of vibration and pause, by turns.
 * @type {Record<Signal, number[]>}
 */
const vibrations = { prompt: [60], wrong: [60, 80, 60], done: [60, 60, 180] };

/**
 * Pitches in hertz, one after another.
 * @type {Record<Signal, number[]>}
 */
const melodies = { prompt: [660], wrong: [220, 220], done: [660, 880] };

/** Length of one tone, in seconds. */
const beat = 0.14;

/** @type {AudioContext | null} */
let audio = null;

/**
 * Gives a signal.
 * @param {Signal} name
 */
export function signal(name) {
  ornament(() => navigator.vibrate?.(vibrations[name]));
  ornament(() => melodies[name].forEach((pitch, i) => audio && tone(audio, pitch, audio.currentTime + i * 1.3 * beat)));
}

/**
 * Does what a check can go on without, in browsers that have it.
 * @param {() => void} act
 */
function ornament(act) {
  try {
    act();
  } catch {
    // hardened browsers leave interfaces out, or let them throw
  }
}

/**
 * Switches the tones on, or off; browsers allow it in answer to a click only.
 * @param {boolean} on
 */
export function sound(on) {
  if (on === Boolean(audio)) return;
  const last = audio;
  audio = null;
  ornament(() => last?.close().catch(() => {}));
  if (on) ornament(() => (audio = new AudioContext()));
}

/**
 * Plays a tone that swells and fades, so that it does not click.
 * @param {AudioContext} context
 * @param {number} pitch
 * @param {number} at
 */
function tone(context, pitch, at) {
  const source = new OscillatorNode(context, { frequency: pitch });
  const volume = new GainNode(context, { gain: 0 });
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(0.2, at + 0.02);
  volume.gain.linearRampToValueAtTime(0, at + beat);
  source.connect(volume).connect(context.destination);
  source.start(at);
  source.stop(at + beat);
}
