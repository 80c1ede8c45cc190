// Every change of the branding shows on both phones, and a picker fills in the colour.
export {};
const form = /** @type {HTMLFormElement | null} */ (document.querySelector("[data-brand]"));
const picker = /** @type {HTMLInputElement | null} */ (document.querySelector("[data-picker]"));
const colour = /** @type {HTMLInputElement | null} */ (picker && document.getElementById(picker.dataset.picker ?? ""));

if (form && picker && colour) {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[formtarget]"));
  let [changes, shown, busy, saving] = [0, 0, false, false];
  // One navigation at a time: a form's next one takes the place of one that has not
  // begun, so each phone is waited for, and no phone takes the place of a saving.
  const show = async () => {
    changes++;
    if (busy) return;
    busy = true;
    while (shown !== changes) {
      shown = changes;
      for (const button of buttons) {
        if (saving) return;
        const frame = document.querySelector(`iframe[name="${button.formTarget}"]`);
        const loaded = new Promise((done) => frame?.addEventListener("load", done, { once: true }));
        form.requestSubmit(button);
        await loaded;
      }
    }
    busy = false;
  };
  const follow = () => (picker.value = /^#?[0-9a-f]{6}$/i.test(colour.value) ? `#${colour.value.replace("#", "")}` : "#1f5f5b");
  picker.hidden = false;
  follow();
  picker.addEventListener("input", () => (colour.value = picker.value));
  form.addEventListener("change", () => {
    follow();
    show();
  });
  for (const button of buttons) {
    button.addEventListener("click", (event) => {
      event.preventDefault();
      show();
    });
  }
  form.addEventListener("submit", ({ submitter }) => (saving ||= !submitter?.hasAttribute("formtarget")));
}
