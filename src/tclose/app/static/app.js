// What pages do beyond forms and links. Every page works without it, but for dropping files.
import { sendEarlyChanges, swapForms } from "/static/swap.js";
import { watchJob } from "/static/job.js";
import { takeDrops, readFilesIntoFields } from "/static/drop.js";
import { dragTree } from "/static/tree.js";
import { joinSliders, chooseOnCurve } from "/static/charts.js";

function begin() {
  watchJob();
  takeDrops();
  readFilesIntoFields();
  dragTree();
  joinSliders();
  chooseOnCurve();
  const step = document.querySelector(".steps [aria-current]");
  if (step) step.parentElement.parentElement.scrollLeft = step.offsetLeft - 60;
  for (const all of document.querySelectorAll("[data-tick-all]")) {
    all.addEventListener("change", () => {
      for (const box of document.querySelectorAll("input[name=column]")) if (box.type === "checkbox") box.checked = all.checked;
    });
  }
}

swapForms(begin);
begin();
sendEarlyChanges();
