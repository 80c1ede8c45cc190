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
  const reaction = 0.3; // seconds from reading to moving
  const movement = 0.8; // seconds of a movement: slow enough to be followed at four pictures a second
  const state = { asked: "level", since: 0, gesture: "level", part: 0, frame: 0 };
  const noise = makeNoise();
  let pictures = null;

  async function load() {
    const decode = async (base64) =>
      createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "image/jpeg" }));
    const all = {};
    for (const [name, list] of Object.entries(config.pictures)) all[name] = await Promise.all(list.map(decode));
    return all;
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

  /** What the page asks for now, as a person would read it. */
  function prompt() {
    const shown = document.getElementById("guidance-text")?.textContent;
    const texts = document.getElementById("texts")?.content.children ?? [];
    const key = [...texts].find((e) => e.dataset.key.startsWith("prompt.") && e.textContent === shown)?.dataset.key;
    return key?.slice("prompt.".length) ?? "";
  }

  function act() {
    const now = performance.now() / 1000;
    const read = prompt();
    const wanted = (config.reply[read] ?? read) || "level";
    const target = config.pictures[wanted] ? wanted : "level";
    if (target !== state.asked) {
      state.asked = target;
      state.since = now;
    }
    if (now - state.since < reaction) return;
    const step = 1 / (rate * (config.abrupt ? 0.01 : movement));
    if (state.gesture === state.asked) state.part = Math.min(1, state.part + step);
    else if ((state.part -= step) <= 0) Object.assign(state, { gesture: state.asked, part: 0 });
  }

  function draw() {
    if (!pictures || config.paused) return;
    act();
    state.frame++;
    let list = pictures.level;
    let index = config.still ? 0 : (state.frame >> 1) % list.length;
    if (state.gesture !== "level" && state.part > 0) {
      list = pictures[state.gesture];
      index = Math.min(list.length - 1, Math.floor(state.part * list.length));
    }
    if (config.swapped?.includes(state.gesture)) list = pictures[`stranger.${state.gesture}`];
    const shake = config.frozen ? 0 : 1;
    context.fillStyle = "#777";
    context.fillRect(0, 0, width, height);
    context.filter = config.filter || "none";
    context.setTransform(scale, 0, 0, scale, width / 2 - 320 * scale, height / 2 - 240 * scale);
    for (const [x, y, w, h] of config.places || [[0, 0, 640, 480]]) {
      context.drawImage(list[index], x + shake * (Math.random() - 0.5), y + shake * (Math.random() - 0.5), w, h);
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
    pictures ??= await load();
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
    HTMLCanvasElement.prototype.toBlob = (done) => done(tape[next++ % tape.length]);
  }
})();
