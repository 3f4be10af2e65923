// Sliders show and set the number beside them; a point of a curve is the button of the same place in its table.
import { asServed } from "/static/swap.js";

export function joinSliders() {
  for (const slider of document.querySelectorAll("input[type=range][data-for]")) {
    const field = document.getElementById(slider.dataset.for);
    if (slider.value !== asServed(slider).value) field.value = slider.value; // moved before this script was there
    slider.addEventListener("input", () => { field.value = slider.value; });
    slider.addEventListener("change", () => field.form.requestSubmit());
    field.addEventListener("input", () => { if (field.value) slider.value = field.value; });
  }
}

export function chooseOnCurve() {
  for (const place of document.querySelectorAll("[data-curve]")) {
    const buttons = [...place.querySelectorAll("[data-point] button")];
    for (const drawing of place.querySelectorAll("svg")) {
      [...drawing.querySelectorAll(".mark")].forEach((mark, n) => {
        mark.classList.add("is-button");
        mark.addEventListener("click", () => buttons[n] && buttons[n].click());
      });
    }
  }
}
