// The stream of pictures to the server: one at a time, the next one when the
// answer to the last has come, so that the rate follows the server and the
// network by itself.

/**
 * The server's answer to a picture.
 * @typedef {object} Guidance
 * @property {string} guidance what is wrong with the picture, or "ok"
 * @property {string} phase of the check
 * @property {string} prompt what to do in a good picture, or ""
 * @property {string} hint to be told with the prompt, or ""
 * @property {number} done
 * @property {number} total
 * @property {number} progress of the present prompt, 0 to 1
 * @property {number} remaining milliseconds until the prompt lapses; 0 when nothing waits
 * @property {boolean} more more time would be granted
 * @property {boolean} full the next picture may decide: it should have the full size
 */

/** Least time from one picture to the next, in milliseconds: nearly 7 a second. */
const leastGap = 150;
/** Longest wait for the server, in milliseconds; it gives up itself a little earlier. */
const patience = 11_000;
/** Share of the full size of pictures that only guide. */
const small = 0.6;
/** Round trips longer than this, in milliseconds, make the pictures smaller. */
const slow = 600;

/**
 * Streams pictures from take() over a WebSocket until it closes.
 *   on.guidance(message)  the server's answer to a picture
 *   on.end(next)          the check has ended: "reload" the page, or, because
 *                         nothing had begun, "retry" with the camera
 *   on.close(code, lived) the connection is over; lived: it had worked
 * Returns { stop(), moreTime() }: after stop() nothing is called any more;
 * moreTime() asks for more time for the present prompt.
 * @param {string} path
 * @param {(share: number) => Promise<ArrayBuffer | null>} take
 * @param {{ guidance(message: Guidance): void, end(next: string): void, close(code: number, lived: boolean): void }} on
 */
export function openStream(path, take, on) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  /** @type {Uint8Array | null} */
  let nonce = null;
  let seq = 0;
  let share = 1;
  let full = false; // the next picture may decide
  let sentAt = 0;
  /** @type {number | undefined} */
  let timer;
  let watchdog = window.setTimeout(silent, patience);
  let stopped = false;

  async function send() {
    const jpeg = await take(full ? share : Math.min(share, small));
    if (stopped || !nonce || socket.readyState !== WebSocket.OPEN) return;
    if (!jpeg) {
      timer = window.setTimeout(send, leastGap);
      return;
    }
    const message = new Uint8Array(20 + jpeg.byteLength);
    message.set(nonce);
    new DataView(message.buffer).setUint32(16, seq++);
    message.set(new Uint8Array(jpeg), 20);
    sentAt = performance.now();
    socket.send(message);
    watchdog = window.setTimeout(silent, patience);
  }

  function answered() {
    const trip = performance.now() - sentAt;
    share = trip > slow ? Math.max(0.6, share - 0.1) : Math.min(1, share + 0.02);
    timer = window.setTimeout(send, Math.max(leastGap - trip, trip > 250 ? trip * 0.2 : 0));
  }

  socket.onmessage = (event) => {
    if (stopped) return;
    clearTimeout(watchdog);
    const message = JSON.parse(event.data);
    if (message.nonce) {
      nonce = Uint8Array.from(String(message.nonce).match(/../g) ?? [], (hex) => parseInt(hex, 16));
      send();
    } else if (message.next) {
      stop();
      on.end(message.next);
    } else {
      full = message.full;
      on.guidance(message);
      answered();
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

  function moreTime() {
    if (!stopped && socket.readyState === WebSocket.OPEN) socket.send("more_time");
  }
  return { stop, moreTime };
}
