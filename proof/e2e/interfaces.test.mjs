// Browsers that lack an interface which the page uses, give errors of their own or
// run in another app: the check goes on, or the page says why.
import { visitor } from "./lib/browser.mjs";
import { perform } from "./lib/camera.mjs";
import { test } from "./lib/row.mjs";
import { browser, gateway, tenant } from "./lib/shared.mjs";
import { sees, toCamera } from "./lib/walk.mjs";

const link = async () => (await gateway.session(tenant, { age: 13 })).url;

/** A shopper who stands still before the running camera. */
async function filmed({ actor = {}, ...options } = {}) {
  const page = await visitor(browser, options);
  await perform(page, { places: [], ...actor });
  return page;
}

// Older browsers, and errors that are no Error.
const named = {
  "PermissionDeniedError": "refused", "DevicesNotFoundError": "missing", "TrackStartError": "in_use",
};
for (const [name, screen] of Object.entries(named)) {
  test(`the camera fails with a plain object named ${name}: says so`, async () => {
    const page = await filmed();
    await page.addInitScript((name) => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject({ name });
    }, name);
    await toCamera(page, await link());
    await sees(page, `screen-${screen}`);
    page.kept();
  });
}

test("the camera's form is refused with a plain object: takes any camera", async () => {
  const page = await filmed();
  await page.addInitScript(() => {
    const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = (wish) =>
      wish.video === true ? open(wish) : Promise.reject({ name: "OverconstrainedError", constraint: "width" });
  });
  await toCamera(page, await link());
  await sees(page, "screen-live");
  page.kept();
});

// Web views by sign, not by name: WebKit's does not call itself Safari.
const agents = {
  "of an app on iOS": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Some/iOS]",
  "of an app on Android": "Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/137.0.0.0 Mobile Safari/537.36 Some/2025.20",
};
for (const [name, userAgent] of Object.entries(agents)) {
  test(`the web view ${name}: says to open a browser`, async () => {
    const page = await filmed({ actor: { refusal: "NotAllowedError" }, userAgent });
    await toCamera(page, await link());
    await sees(page, "screen-embedded");
    page.kept();
  });
}

/** Browser interfaces that a page may lack, and what it then shows: the check goes on, or says why. */
const lacking = {
  "AudioContext": [() => delete window.AudioContext, "live"],
  "an AudioContext that does not throw": [() => {
    window.AudioContext = class {
      constructor() {
        throw new Error("no audio device");
      }
    };
  }, "live"],
  "OscillatorNode": [() => delete window.OscillatorNode, "live"],
  "a vibration that does not throw": [() => {
    navigator.vibrate = () => {
      throw new Error("not here");
    };
  }, "live"],
  "requestVideoFrameCallback": [() => delete HTMLVideoElement.prototype.requestVideoFrameCallback, "live"],
  "a list of cameras": [() => (navigator.mediaDevices.enumerateDevices = () => Promise.reject({ name: "NotAllowedError" })), "live"],
  "a list of cameras in time": [() => (navigator.mediaDevices.enumerateDevices = () => new Promise(() => {})), "live"],
  "mediaDevices": [() => Object.defineProperty(navigator, "mediaDevices", { value: undefined }), "embedded"],
  "a camera in time": [() => (navigator.mediaDevices.getUserMedia = () => new Promise(() => {})), "asking"],
  "a canvas": [() => (HTMLCanvasElement.prototype.getContext = () => null), "unreadable"],
  "toBlob": [() => delete HTMLCanvasElement.prototype.toBlob, "unreadable"],
  "WebSocket": [() => delete window.WebSocket, "failed"],
  "a WebSocket that does not throw": [() => {
    window.WebSocket = class {
      constructor() {
        throw new DOMException("", "SecurityError");
      }
    };
  }, "failed"],
};
for (const [name, [spoil, screen]] of Object.entries(lacking)) {
  test(`a browser without ${name} shows ${screen}`, async () => {
    const page = await filmed();
    await page.addInitScript(spoil);
    await toCamera(page, await link());
    await sees(page, `screen-${screen}`);
    if (screen !== "live") await sees(page, "leave");
    page.kept();
  });
}
