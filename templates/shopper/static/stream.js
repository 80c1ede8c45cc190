// The stream of pictures to the server: never more of them unanswered than the
// server gives credit for, so that the rate follows the server and the network by
// itself.

/**
 * The server's answer to a picture.
 * @typedef {object} Guidance
 * @property {string} [stage] what to film, "document" or "face"; only where a document is asked for
 * @property {string} guidance what is wrong with the picture, or "ok"
 * @property {string} phase of the check
 * @property {string} prompt what to do in a good picture, or ""
 * @property {string} hint to be shown with the prompt, or ""
 * @property {number} done
 * @property {number} total
 * @property {number} progress of the present prompt, 0 to 1
 * @property {number} remaining milliseconds until the prompt lapses; 0 when nothing waits
 * @property {boolean} more more time would be granted
 * @property {boolean} full the next picture may decide: it should have the full size
 * @property {number} credit pictures that may be unanswered
 * @property {string} [again] why the face is asked for again
 */

/** Least time from one picture to the next, in milliseconds. */
const leastGap = 150;
/** The same after a new prompt: nobody moves at once, and the head has just been seen. */
const promptGap = 280;
/** Longest wait for a message, in milliseconds; the server gives up itself a little earlier. */
export const patience = 11_000;
/** Share of the full size of pictures that only guide, on every network. */
const small = 0.6;
/** Round trips longer than this, in milliseconds, make the pictures that may decide smaller. */
const slow = 600;

/**
 * Streams pictures from take() over a WebSocket until it closes.
 *   on.queue(place)       the check waits in line; told again and again
 *   on.begin()            the server takes pictures now
 *   on.guidance(message)  the server's answer to a picture
 *   on.end(next)          the check has ended: "reload" the page, or, because
 *                         nothing had begun, "retry" with the camera; refused:
 *                         why a document was, or undefined
 *   on.close(code, lived) the connection is over; lived: it had worked
 * Returns { stop(), hold(on), moreTime() }: after stop() nothing is called any more;
 * while held, no picture is taken; moreTime() asks for more time for the prompt.
 * longest is the longest wait for a message, in milliseconds.
 * @param {string} path
 * @param {(share: number, decides: boolean) => Promise<ArrayBuffer | null>} take
 * @param {{ queue(place: number): void, begin(): void, guidance(message: Guidance): void, end(next: string, refused?: string): void, close(code: number, lived: boolean): void }} on
 * @param {number} longest
 */
export function openStream(path, take, on, longest = patience) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  /** @type {Uint8Array | null} */
  let nonce = null;
  let seq = 0;
  let share = 1;
  let full = false; // the next picture may decide
  let credit = 1;
  let prompt = ""; // the latest
  let gap = leastGap;
  /** When the pictures that are not answered yet were sent. @type {number[]} */
  const open = [];
  let takenAt = -leastGap;
  let taking = false;
  /** @type {number | undefined} */
  let timer;
  let watchdog = window.setTimeout(silent, longest);
  let stopped = false;
  let held = false;

  function plan() {
    clearTimeout(timer);
    if (stopped || held || taking || open.length >= credit) return;
    timer = window.setTimeout(send, Math.max(0, takenAt + gap - performance.now()));
  }

  async function send() {
    [taking, takenAt, gap] = [true, performance.now(), leastGap];
    const jpeg = await take(full ? share : small, full);
    taking = false;
    if (stopped || held || !nonce || socket.readyState !== WebSocket.OPEN) return;
    if (jpeg) {
      const message = new Uint8Array(20 + jpeg.byteLength);
      message.set(nonce);
      new DataView(message.buffer).setUint32(16, seq++);
      message.set(new Uint8Array(jpeg), 20);
      socket.send(message);
      open.push(performance.now());
      watch();
    }
    plan();
  }

  /** @param {Guidance} message */
  function answered(message) {
    const trip = performance.now() - (open.shift() ?? 0);
    share = trip > slow ? Math.max(0.6, share - 0.1) : Math.min(1, share + 0.02);
    ({ full, credit = 1 } = message);
    if (prompt && message.prompt !== prompt) gap = promptGap;
    prompt = message.prompt;
    if (open.length > 0) watch();
    plan();
  }

  function watch() {
    clearTimeout(watchdog);
    watchdog = window.setTimeout(silent, longest);
  }

  socket.onmessage = (event) => {
    if (stopped) return;
    clearTimeout(watchdog);
    const message = JSON.parse(event.data);
    if (message.place) {
      watch();
      on.queue(message.place);
    } else if (message.nonce) {
      nonce = Uint8Array.from(String(message.nonce).match(/../g) ?? [], (hex) => parseInt(hex, 16));
      credit = message.credit ?? 1;
      on.begin();
      plan();
    } else if (message.next) {
      stop();
      on.end(message.next, message.refused);
    } else {
      on.guidance(message);
      answered(message);
    }
  };
  socket.onclose = (event) => {
    if (stopped) return;
    stop();
    on.close(event.code, nonce !== null);
  };

  /** A network that is gone does not say so: the answer just never comes. */
  function silent() {
    stop();
    on.close(1006, nonce !== null);
  }

  function stop() {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(watchdog);
    socket.close(1000);
  }

  /** @param {boolean} on */
  function hold(on) {
    if (held === on) return;
    held = on;
    plan();
  }

  function moreTime() {
    if (!stopped && socket.readyState === WebSocket.OPEN) socket.send("more_time");
  }
  return { stop, hold, moreTime };
}
