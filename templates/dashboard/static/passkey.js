// Passkeys. The device's answer goes into the hidden field of <div data-passkey="create|get"> and the form is sent.

/** What waits for a passkey from the browser's list of suggestions. */
let suggesting = new AbortController();

/** Shows the buttons where the browser can make and use passkeys. */
export function passkeys() {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) return;
  for (const offer of document.querySelectorAll("[data-passkey]")) {
    offer.removeAttribute("hidden");
    offer.querySelector("button")?.addEventListener("click", () => press(offer));
  }
  for (const other of document.querySelectorAll("details.other:not([data-keep])")) {
    if (document.querySelector("[data-passkey]")) other.removeAttribute("open");
  }
  suggest();
}

/** @param {Element} offer */
async function press(offer) {
  const form = offer.closest("form");
  const told = offer.querySelector("[data-text]");
  if (!form || !told) return;
  if (form.querySelector("input:not([type=password]):invalid")) {
    offer.querySelector("input")?.setAttribute("value", "none"); // the server names all faults
    return form.requestSubmit();
  }
  suggesting.abort();
  told.textContent = "";
  try {
    await answer(offer, form);
  } catch {
    told.textContent = told.getAttribute("data-text");
    document.querySelector("details.other")?.setAttribute("open", "");
  }
}

/** Offers passkeys among what the browser suggests for the e-mail field. */
async function suggest() {
  const offer = document.querySelector("[data-passkey=get]");
  const form = offer?.closest("form");
  if (!offer || !form || !document.querySelector("[autocomplete~=webauthn]")) return;
  if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
  await answer(offer, form, { mediation: "conditional", signal: suggesting.signal }).catch(() => {});
}

/**
 * @param {Element} offer
 * @param {HTMLFormElement} form
 * @param {{mediation?: CredentialMediationRequirement, signal?: AbortSignal}} how
 */
async function answer(offer, form, how = {}) {
  const options = JSON.parse(offer.getAttribute("data-options") ?? "");
  let credential;
  if (offer.getAttribute("data-passkey") === "create") {
    const typed = new FormData(form);
    options.user.name ||= typed.get("email");
    options.user.displayName ||= typed.get("name");
    credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  } else {
    credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), ...how });
  }
  if (!(credential instanceof PublicKeyCredential)) throw new Error();
  offer.querySelector("input")?.setAttribute("value", JSON.stringify(credential.toJSON()));
  form.requestSubmit();
}
