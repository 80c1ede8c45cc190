// Every change of the branding shows on both phones, and a picker fills in the colour.
export {};
const form = /** @type {HTMLFormElement | null} */ (document.querySelector("[data-brand]"));
const picker = /** @type {HTMLInputElement | null} */ (document.querySelector("[data-picker]"));
const colour = /** @type {HTMLInputElement | null} */ (picker && document.getElementById(picker.dataset.picker ?? ""));

if (form && picker && colour) {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[formtarget]"));
  let changes = 0;
  // One navigation at a time: a phone follows another, none a saving.
  const show = async () => {
    const mine = ++changes;
    for (const button of buttons) {
      if (mine !== changes) return;
      const frame = document.querySelector(`iframe[name="${button.formTarget}"]`);
      form.requestSubmit(button);
      await new Promise((loaded) => frame?.addEventListener("load", loaded, { once: true }));
    }
  };
  const follow = () => (picker.value = /^#?[0-9a-f]{6}$/i.test(colour.value) ? `#${colour.value.replace("#", "")}` : "#1f5f5b");
  picker.hidden = false;
  follow();
  picker.addEventListener("input", () => (colour.value = picker.value));
  form.addEventListener("change", () => {
    follow();
    show();
  });
  form.addEventListener("submit", ({ submitter }) => {
    if (!submitter?.hasAttribute("formtarget")) changes++;
  });
}
