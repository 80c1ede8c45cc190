// What is typed or chosen as branding shows on both phones, and a picker fills in the colour.
export {};
const picker = /** @type {HTMLInputElement | null} */ (document.querySelector("[data-picker]"));
const form = picker?.form;
const colour = /** @type {HTMLInputElement | null} */ (picker && document.getElementById(picker.dataset.picker ?? ""));

if (form && picker && colour) {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (form.querySelectorAll("[formtarget]"));
  let [changed, busy, saving] = [false, false, false];
  // One navigation at a time: a form's next one replaces one that has not begun.
  const show = async () => {
    changed = true;
    if (busy) return;
    busy = true;
    while (changed) {
      changed = false;
      for (const button of buttons) {
        if (saving) return;
        await new Promise((loaded) => {
          document.getElementsByName(button.formTarget)[0].onload = loaded;
          form.requestSubmit(button);
        });
      }
    }
    busy = false;
  };
  const follow = () => (picker.value = /^#?[0-9a-f]{6}$/i.test(colour.value) ? `#${colour.value.replace("#", "")}` : "#1f5f5b");
  picker.hidden = false;
  follow();
  form.oninput = () => (form.className = "changed");
  if (!document.querySelector("[src][inert]")) show();
  picker.oninput = () => (colour.value = picker.value);
  picker.closest(".part")?.addEventListener("input", () => {
    follow();
    show();
  });
  for (const button of buttons) button.onclick = (event) => (event.preventDefault(), void show());
  form.addEventListener("submit", ({ submitter }) => (saving ||= !submitter?.hasAttribute("formtarget")));
}
