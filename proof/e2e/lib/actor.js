// Runs inside the browser, before the page's own scripts: a camera that shows
// a person who reads the page's prompts and acts on them. The page cannot tell
// it from a device. Configured by window.__actor, see camera.mjs; what was
// changed since stays changed in the pages that follow.
(() => {
  const config = Object.assign(window.__actor, JSON.parse(sessionStorage.getItem("directions")));
  const [width, height] = config.size ?? [640, 480];
  const scale = Math.min(width, height) / 480; // of the pictures, which are 640×480 and stay in the middle
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { alpha: false });
  const rate = config.rate ?? 20; // pictures a second
  const reaction = config.reaction ?? 0.3; // seconds from reading to moving
  const movement = config.movement ?? 0.8; // seconds; by default slow enough to be followed at four pictures a second
  // Poses are [yaw, pitch] in degrees from level, of a whole movement in each direction.
  const yaw = 27.5, pitch = 20;
  const level = [0, 0];
  const directions = ["turn_left", "up_left", "look_up", "up_right", "turn_right", "down_right", "look_down", "down_left"];
  const poseOf = (gesture) => {
    const turn = (directions.indexOf(gesture) * Math.PI) / 4;
    return directions.includes(gesture) ? [yaw * Math.cos(turn), pitch * Math.sin(turn)] : level;
  };
  const state = { asked: "", since: 0, from: level, to: level, part: 1, frame: 0 };
  const hand = { asked: "document", since: 0, gesture: "document", part: 0 }; // that holds a passport
  const noise = makeNoise();
  let heads = null; // once the camera was opened

  async function load() {
    const { own, stranger, passport } = config.heads;
    const held = Object.entries(passport ?? {}).map(async ([prompt, list]) => [prompt, await Promise.all(list.map(decode))]);
    heads = {
      own: await decoded(own), stranger: stranger && (await decoded(stranger)),
      passport: passport && Object.fromEntries(await Promise.all(held)),
    };
  }

  const decode = async (base64) =>
    createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "image/jpeg" }));

  async function decoded({ level, poses }) {
    const taken = poses.map(async ([yaw, pitch, base64]) => ({ yaw, pitch, picture: await decode(base64) }));
    return { level: await Promise.all(level.map(decode)), poses: await Promise.all(taken) };
  }

  function makeNoise() {
    const tile = Object.assign(document.createElement("canvas"), { width: 768, height: 608 });
    const ink = tile.getContext("2d");
    const image = ink.createImageData(768, 608);
    for (let i = 0; i < image.data.length; i += 4) {
      image.data.fill(Math.random() * 256, i, i + 3);
      image.data[i + 3] = 8;
    }
    ink.putImageData(image, 0, 0);
    return tile;
  }

  /** Whether the page films a document, and there is one to hold before the camera. */
  const holdsDocument = () => heads.passport && document.getElementById("stage")?.dataset.film === "document";

  /** What the page asks for now, as a person would read it. */
  function prompt() {
    const shown = document.getElementById("guidance-text")?.textContent;
    const texts = document.getElementById("texts")?.content.children ?? [];
    const key = [...texts].find((e) => e.dataset.key.startsWith("prompt.") && e.textContent === shown)?.dataset.key;
    return key?.slice("prompt.".length) ?? "";
  }

  /** Where the head is between two poses: it gathers speed and loses it, as heads do. */
  function pose() {
    const share = state.part * state.part * (3 - 2 * state.part);
    return state.from.map((angle, i) => angle + share * (state.to[i] - angle));
  }

  function act() {
    const now = performance.now() / 1000;
    const read = prompt();
    const wanted = config.reply[read] ?? read;
    if (wanted !== state.asked) Object.assign(state, { asked: wanted, since: now });
    if (now - state.since >= reaction) {
      const to = poseOf(state.asked);
      if (to.some((angle, i) => angle !== state.to[i])) Object.assign(state, { from: pose(), to, part: 0 });
    }
    // By the picture rather than by the clock: a busy machine draws fewer.
    state.part = config.abrupt ? 1 : Math.min(1, state.part + 1 / (rate * movement));
  }

  /** The picture of the moment: a level head sways, others are those nearest to the pose. */
  function picture() {
    const [yaw, pitch] = pose();
    const away = ([a, b]) => Math.hypot(a - yaw, b - pitch);
    if (away(level) < 2) return heads.own.level[config.still ? 0 : (state.frame >> 1) % heads.own.level.length];
    const poses = (heads.stranger ?? heads.own).poses;
    return poses.reduce((best, p) => (away([p.yaw, p.pitch]) < away([best.yaw, best.pitch]) ? p : best)).picture;
  }

  /** The picture of the moment of a held passport: at rest, or on the way to what is asked for and back. */
  function passport() {
    const now = performance.now() / 1000;
    const read = prompt();
    const wanted = heads.passport[read] ? read : "document";
    if (wanted !== hand.asked) Object.assign(hand, { asked: wanted, since: now });
    if (now - hand.since >= reaction) {
      const step = 1 / (rate * movement);
      if (hand.gesture === hand.asked) hand.part = Math.min(1, hand.part + step);
      else if ((hand.part -= step) <= 0) Object.assign(hand, { gesture: hand.asked, part: 0 });
    }
    const list = heads.passport[hand.gesture];
    return hand.gesture === "document" ? list[(state.frame >> 1) % list.length] : list[Math.min(list.length - 1, Math.floor(hand.part * list.length))];
  }

  function draw() {
    if (!heads || config.paused) return;
    if (!holdsDocument()) act();
    state.frame++;
    const shown = holdsDocument() ? passport() : picture();
    const shake = config.frozen ? 0 : 1;
    context.fillStyle = "#777";
    context.fillRect(0, 0, width, height);
    context.filter = config.filter || "none";
    context.setTransform(scale, 0, 0, scale, width / 2 - 320 * scale, height / 2 - 240 * scale);
    if (holdsDocument()) context.imageSmoothingQuality = "high";
    for (const [x, y, w, h] of config.places || [[0, 0, 640, 480]]) {
      context.drawImage(shown, x + shake * (Math.random() - 0.5), y + shake * (Math.random() - 0.5), w, h);
    }
    context.filter = "none";
    context.resetTransform();
    if (shake) context.drawImage(noise, -Math.random() * 128, -Math.random() * 128, width + 128, height + 128);
  }

  const devices = navigator.mediaDevices;
  if (!devices) return;
  window.__streams = [];
  devices.getUserMedia = async (constraints) => {
    if (config.refusal) throw new DOMException("", config.refusal);
    if (!heads) await load();
    draw();
    const stream = canvas.captureStream(rate);
    window.__streams.push({ stream, constraints });
    return stream;
  };
  if (config.devices) {
    devices.enumerateDevices = async () =>
      config.devices.map((label, i) => ({ kind: "videoinput", deviceId: `camera-${i}`, label, groupId: "" }));
  }
  setInterval(draw, 1000 / rate);

  const toBlob = HTMLCanvasElement.prototype.toBlob;
  if (config.canary) {
    // A comment segment right after the start of every JPEG that is sent.
    const text = new TextEncoder().encode(config.canary);
    const comment = new Uint8Array([0xff, 0xfe, 0, text.length + 2, ...text]);
    HTMLCanvasElement.prototype.toBlob = function (done, ...rest) {
      toBlob.call(this, (blob) => done(new Blob([blob.slice(0, 2), comment, blob.slice(2)], { type: blob.type })), ...rest);
    };
  }
  if (config.tape) {
    // Another session's pictures, byte for byte, instead of the camera's.
    const tape = config.tape.map((base64) => new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "image/jpeg" }));
    let next = 0;
    HTMLCanvasElement.prototype.toBlob = function (done, ...rest) {
      if (this.width <= 64) toBlob.call(this, done, ...rest); // the page's own picture, by which it tests the browser
      else done(tape[next++ % tape.length]);
    };
  }
})();
