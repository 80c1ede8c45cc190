// Every screen of the hosted page, and how a visitor comes to see it.
import { passport, perform } from "./camera.mjs";
import { agreesToPhotograph, answersAlways, asksWallet, isTold, openCamera, part, sees, shares, toCamera, toPrimer } from "./walk.mjs";

/** The screens of the camera page that a script shows and hides. */
const hiddenScreens = [
  "asking", "processing", "missing", "refused", "in_use", "frozen", "unreadable", "insecure", "embedded", "unplugged", "failed", "blocked",
  "network", "waiting", "other_tab",
];

/**
 * Returns the tour as { name: visit }. visit(page, meet) leads a fresh page to
 * the screen, and a camera page to each of those named camera-; meet() opens another
 * visitor's page where one is needed.
 */
export function tour(gateway) {
  const shop = gateway.tenant("--age-visibility");
  const plain = gateway.tenant();
  const document = gateway.tenant("--document-check");
  const photoOnly = gateway.tenant("--document-check", "--document-ways", "photo");
  const link = async (tenant = plain) => (await gateway.session(tenant)).url;
  const forced = (outcome, tenant) => async (page) => page.goto(`${await link(tenant)}?force=${outcome}`);
  const asked = async (page) => {
    await forced("fallback", document)(page);
    await asksWallet(page);
  };
  /** Leads to the camera for a document; answers its pictures with a message, if there is one. */
  const photographs = async (page, message) => {
    if (message) {
      await perform(page, { passport: passport(), size: [960, 720], devices: ["Back", "Front"] });
      await answersAlways(page, { phase: "document", prompt: "", done: 0, total: 0, full: true, ...message });
    }
    await forced("fallback", document)(page);
    await agreesToPhotograph(page);
    if (message) await openCamera(page);
  };
  const offered = async (page) => {
    await toPrimer(page, await link());
    await part(page, "use-phone").click();
    await sees(page, "handover-waiting");
    return page.locator('[data-testid="address"]').textContent();
  };

  const stops = {
    intro: async (page) => page.goto(await link(shop)),
    "intro-live": async (page) => page.goto((await gateway.session(plain, { live: true })).url),
    "intro-arabic": async (page) => page.goto(`${await link()}?lang=ar`),
    "intro-german": async (page) => page.goto(`${await link(shop)}?lang=de`),
    "intro-choice": async (page) => page.goto(await link(document)),
    "intro-choice-german": async (page) => page.goto(`${await link(photoOnly)}?lang=de`),
    "document-preferred": async (page) => {
      await page.goto(await link(document));
      await part(page, "prefer-document").click();
      await sees(page, "screen-document");
    },
    languages: async (page) => {
      await page.goto(await link());
      await part(page, "languages").click();
    },
    privacy: async (page) => {
      await page.goto(await link());
      await page.goto(new URL("/privacy", page.url()).href);
    },
    consent: async (page) => {
      await page.goto(await link(shop));
      await part(page, "start").click();
      await sees(page, "screen-consent");
    },
    primer: async (page) => toPrimer(page, await link()),
    "live-sitting": async (page) => {
      await perform(page, { still: true });
      await answersAlways(page, { guidance: "ok", phase: "challenge", prompt: "hold_still", done: 12, total: 13 });
      await toPrimer(page, (await gateway.session(gateway.tenant("--document-check"))).url);
      await part(page, "assisted").click();
      await sees(page, "assisted-on");
      await openCamera(page);
      await part(page, "help").locator("h2").waitFor();
    },
    "primer-assisted": async (page) => {
      await toPrimer(page, await link());
      await part(page, "assisted").click();
      await sees(page, "assisted-on");
    },
    live: async (page) => {
      await perform(page, { devices: ["Front", "Back"] });
      await answersAlways(page, { guidance: "ok", phase: "challenge", prompt: "turn_left", done: 1, total: 4, progress: 0.5, remaining: 18_000, more: true });
      await toCamera(page, await link());
      await isTold(page, "prompt.turn_left");
    },
    "live-time-low": async (page) => {
      await perform(page);
      await answersAlways(page, { guidance: "ok", phase: "challenge", prompt: "up_right", hint: "again", done: 1, total: 4, remaining: 6000, more: true });
      await toCamera(page, await link());
      await isTold(page, "prompt.up_right");
    },
    "live-no-face": async (page) => {
      await perform(page, { places: [] });
      await answersAlways(page, { guidance: "no_face", phase: "framing", prompt: "", done: 0, total: 4 });
      await toCamera(page, await link());
      await isTold(page, "no_face");
    },
    "live-explained": async (page) => {
      await perform(page, { places: [] });
      await answersAlways(page, { guidance: "turned_away", phase: "framing", prompt: "", done: 0, total: 4 });
      await toCamera(page, await link());
      await part(page, "help").locator("h2").waitFor();
    },
    document: forced("fallback", document),
    "document-one-way": forced("fallback", photoOnly),
    photo: async (page) => {
      await forced("fallback", document)(page);
      await part(page, "way-photo").click();
      await sees(page, "screen-photo");
    },
    "photo-without-consent": async (page) => {
      await stops.photo(page);
      await part(page, "continue").click();
      await sees(page, "consent-missing");
    },
    "photo-primer": (page) => photographs(page),
    "photo-doubtful": async (page) => {
      await photographs(page);
      await page.goto(`${page.url()}?refused=doubtful`);
      await sees(page, "refused-doubtful");
    },
    "photo-live": async (page) => {
      await photographs(page, { stage: "document", guidance: "document.show_zone" });
      await isTold(page, "document.show_zone");
    },
    "photo-tilt": async (page) => {
      await photographs(page, { stage: "document", guidance: "ok", prompt: "document.raise_left" });
      await isTold(page, "prompt.document.raise_left");
    },
    "photo-face": async (page) => {
      await photographs(page, { stage: "face", guidance: "no_face", phase: "framing", total: 4 });
      await isTold(page, "no_face");
    },
    "photo-face-again": async (page) => {
      await photographs(page, { stage: "face", guidance: "ok", phase: "framing", total: 4, again: "unmoved" });
      await sees(page, "screen-again");
    },
    "photo-handover": async (page) => {
      await photographs(page);
      await part(page, "use-phone").click();
      await sees(page, "handover-waiting");
    },
    "photo-phone": async (page, meet) => {
      const desk = await meet();
      await stops["photo-handover"](desk);
      await page.goto(await desk.locator('[data-testid="address"]').textContent());
      await part(page, "codes-match").click();
      await sees(page, "screen-primer");
    },
    "document-refused": async (page) => {
      await asked(page);
      await shares(page, { age: 17 });
      await sees(page, "refused-under_age");
    },
    wallet: asked,
    "wallet-mobile": async (page) => {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Emulation.setUserAgentOverride", { userAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X)" });
      await asked(page);
      await part(page, "others").click();
    },
    "wallet-refused": async (page) => {
      await asked(page);
      await shares(page, { kind: "untrusted" });
      await page.locator('[data-testid="said"]:not(:empty)').waitFor();
    },
    "sample-wallet": async (page) => {
      await asked(page);
      await part(page, "sample-wallet").click();
      await sees(page, "screen-sample");
    },
    fallback: forced("fallback"),
    spoof: forced("spoof"),
    "handover-waiting": offered,
    "handover-link": async (page) => {
      await offered(page);
      await page.goto(`${page.url()}?link=first`);
      await sees(page, "copy");
    },
    phone: async (page, meet) => page.goto(await offered(await meet())),
    "handover-phone": async (page, meet) => {
      const phone = await meet();
      await phone.goto(await offered(page));
      await part(phone, "codes-match").click();
      await sees(page, "handover-phone");
    },
    "phone-camera": async (page, meet) => {
      await page.goto(await offered(await meet()));
      await part(page, "codes-match").click();
      await sees(page, "screen-primer");
    },
    elsewhere: async (page, meet) => {
      const url = await link();
      await toPrimer(await meet(), url);
      await page.goto(url);
    },
    completed: async (page, meet) => {
      const url = await link();
      await (await meet()).goto(`${url}?force=fallback`);
      await page.goto(url);
    },
    "handover-gone": async (page) => page.goto(`${gateway.url}/h/${"x".repeat(43)}`),
    unknown: async (page) => page.goto(`${gateway.url}/v/${"x".repeat(43)}`),
    "force-unknown": forced("maybe"),
  };
  for (const name of hiddenScreens) {
    stops[`camera-${name}`] = async (page) => {
      if (!(await page.locator("#camera").count())) await toPrimer(page, await link());
      await page.evaluate((name) => {
        for (const e of document.querySelectorAll("[data-screen]")) e.hidden = e.dataset.screen !== name;
      }, name);
    };
  }
  return stops;
}
