// The camera: opening it, naming what went wrong, and taking pictures.

/** Widest picture of a face that is sent, in pixels; the server needs no more. */
const maxWidth = 640;

/** Longest side of a picture of a document, in pixels; the server takes no more. */
const maxDocument = 1280;

/**
 * What is filmed: a document before the camera at the back, or a face before the
 * one in front.
 * @typedef {"document" | "face"} Film
 */

/**
 * Opens a camera: the one with the given id, or the one for what is filmed.
 * Rejects with an Error whose name problemOf explains.
 * @param {string} deviceId empty for any
 * @param {Film} film
 */
export async function openCamera(deviceId, film = "face") {
  if (!navigator.mediaDevices?.getUserMedia) throw new DOMException("", "NotSupportedError");
  const [width, height] = film === "document" ? [1280, 960] : [640, 480];
  const size = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: 24 } };
  const which = deviceId ? { deviceId: { exact: deviceId } } : { facingMode: film === "document" ? "environment" : "user" };
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: false, video: { ...size, ...which } });
  } catch (error) {
    // The chosen camera is gone or cannot do it: any camera is better than none.
    const name = nameOf(error);
    if (!deviceId && name !== "OverconstrainedError") throw error;
    if (name !== "OverconstrainedError" && name !== "NotFoundError") throw error;
    return navigator.mediaDevices.getUserMedia({ audio: false, video: true });
  }
}

/**
 * Returns the cameras by id and label; none where a browser does not say. Labels
 * exist once the camera was allowed.
 */
export async function cameras() {
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => []);
  return devices.filter((d) => d.kind === "videoinput" && d.deviceId);
}

/** Former names of errors, which older browsers still use. @type {Record<string, string>} */
const renamed = {
  PermissionDeniedError: "NotAllowedError",
  PermissionDismissedError: "NotAllowedError",
  DevicesNotFoundError: "NotFoundError",
  TrackStartError: "NotReadableError",
  SourceUnavailableError: "NotReadableError",
  ConstraintNotSatisfiedError: "OverconstrainedError",
};

/**
 * Returns today's name of an error. Some browsers' are plain objects.
 * @param {any} error
 */
function nameOf(error) {
  const name = String(error?.name ?? "");
  return renamed[name] ?? name;
}

/**
 * Returns why a camera did not open; the screen that explains it has the same name.
 * @param {unknown} error
 * @returns {import("./machine.js").Problem}
 */
export function problemOf(error) {
  if (!window.isSecureContext) return "insecure";
  switch (nameOf(error)) {
    case "NotSupportedError":
      return "embedded";
    case "NotAllowedError":
    case "SecurityError":
      return isEmbedded() ? "embedded" : "refused";
    case "NotFoundError":
    case "OverconstrainedError":
      return "missing";
    case "NotReadableError":
    case "AbortError":
      return "in_use";
    default:
      return "failed";
  }
}

/**
 * Waits until the video shows a new frame, at most a second: a slow camera
 * would otherwise be sent twice, which the server takes for a still picture.
 * @param {HTMLVideoElement} video
 * @returns {Promise<void>}
 */
function nextFrame(video) {
  if (!video.requestVideoFrameCallback) return Promise.resolve();
  return new Promise((done) => {
    const late = setTimeout(done, 1000);
    video.requestVideoFrameCallback(() => {
      clearTimeout(late);
      done();
    });
  });
}

/**
 * Guesses whether the page runs in a frame, or in the web view of an app: Android's
 * names itself, and WebKit's does not call itself Safari. Snapchat says "like Safari".
 */
function isEmbedded() {
  const agent = navigator.userAgent;
  return window.self !== window.top || /; wv\)|Version\/4\.0 Chrome\/|Snapchat/.test(agent) ||
    /AppleWebKit\//.test(agent) && !/Safari\//.test(agent);
}

/**
 * JPEG qualities of pictures that may decide, and of those that only guide,
 * see docs/measurements.md.
 */
const [deciding, guiding] = [0.8, 0.6];

/**
 * Returns a function that takes the next picture of the video as JPEG bytes,
 * or null while there is none. Its arguments are the share of the full size to
 * use, from 0 to 1, and whether the picture may decide; pictures of a document
 * always have the full size and quality.
 * @param {HTMLVideoElement} video
 * @param {() => Film} film what is filmed
 * @returns {(share: number, decides: boolean) => Promise<ArrayBuffer | null>}
 */
export function photographer(video, film) {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { alpha: false });
  return async (share, decides) => {
    await nextFrame(video);
    if (!context || video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA || !video.videoWidth) return null;
    const whole = film() === "document";
    const scale = Math.min(1, whole
      ? maxDocument / Math.max(video.videoWidth, video.videoHeight)
      : (maxWidth * share) / video.videoWidth);
    canvas.width = Math.round(video.videoWidth * scale);
    canvas.height = Math.round(video.videoHeight * scale);
    context.drawImage(video, 0, 0, canvas.width, canvas.height);
    return (await jpegOf(canvas, whole || decides ? deciding : guiding))?.arrayBuffer() ?? null;
  };
}

/** Longest wait for a picture's bytes, in milliseconds. */
const encodingTime = 3000;

/**
 * Returns a canvas as JPEG, or null where the browser gives none in time, or
 * something else.
 * @param {HTMLCanvasElement} canvas
 * @param {number} quality
 * @returns {Promise<Blob | null>}
 */
async function jpegOf(canvas, quality) {
  /** @type {Blob | null} */
  const blob = await new Promise((done) => {
    setTimeout(done, encodingTime, null);
    try {
      canvas.toBlob(done, "image/jpeg", quality);
    } catch {
      done(null); // as some protections against fingerprinting do
    }
  });
  return blob?.type === "image/jpeg" ? blob : null;
}

/**
 * Draws a known picture, takes it as the camera's pictures are taken, and reports
 * whether it can be recognized. Browsers that resist fingerprinting give noise
 * or white; a little noise does no harm.
 */
export async function readsBack() {
  const [size, tolerance] = [64, 48];
  const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  if (!context) return false;
  const half = size / 2;
  const fields = [0, 255, 255, 0].map((gray, i) => ({ gray, x: (i % 2) * half, y: Math.floor(i / 2) * half }));
  for (const { gray, x, y } of fields) {
    context.fillStyle = `rgb(${gray}, ${gray}, ${gray})`;
    context.fillRect(x, y, half, half);
  }
  const blob = await jpegOf(canvas, deciding);
  if (!blob || !window.createImageBitmap) return blob !== null; // older browsers cannot be asked
  context.drawImage(await createImageBitmap(blob), 0, 0);
  return fields.every(({ gray, x, y }) => {
    const { data } = context.getImageData(x, y, half, half);
    const mean = data.reduce((sum, value) => sum + value, 0) / data.length;
    return Math.abs(mean - (3 * gray + 255) / 4) < tolerance; // a quarter of the values is the opacity
  });
}

/** Size at which pictures are compared: enough for the noise of any real one to show. */
const grain = { width: 160, height: 120 };

/**
 * Returns a function that looks at the video and returns for how many
 * milliseconds each look has seen the very same picture, which a camera that
 * works never shows twice.
 * @param {HTMLVideoElement} video
 */
export function stillness(video) {
  const canvas = Object.assign(document.createElement("canvas"), grain);
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  /** @type {Uint8ClampedArray | null} */
  let last = null;
  let since = 0;
  return () => {
    if (!context) return 0;
    context.drawImage(video, 0, 0, grain.width, grain.height);
    const seen = context.getImageData(0, 0, grain.width, grain.height).data;
    const before = last;
    if (!before || seen.some((value, i) => value !== before[i])) [last, since] = [seen, performance.now()];
    return performance.now() - since;
  };
}
