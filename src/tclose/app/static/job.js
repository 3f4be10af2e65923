// While work goes on, asks how far it is; when it is over, shows the page anew.
import { sayUnreachable, show } from "/static/swap.js";

let timer = 0;
let failures = 0;

export function watchJob() {
  clearTimeout(timer);
  if (document.querySelector("[data-job]")) timer = setTimeout(ask, 400);
}

async function ask() {
  const place = document.querySelector("[data-job]");
  if (!place) return;
  try {
    const job = await (await fetch("/job.json", { credentials: "same-origin" })).json();
    failures = 0;
    if (job.state !== "running") {
      const answer = await fetch(location.pathname, { credentials: "same-origin" });
      return show(await answer.text(), answer.redirected ? answer.url : null);
    }
    const names = JSON.parse(place.dataset.stages || "{}");
    const stage = place.querySelector("[data-stage]");
    const told = names[job.stage] || job.stage;
    if (stage.textContent !== told) stage.textContent = told; // readers say it only when it changes
    place.querySelector("[data-seconds]").textContent = job.seconds;
    const stop = place.querySelector("#stop");
    const words = JSON.parse(stop.dataset.stopWords)[job.stop_means];
    place.querySelector("[data-stop]").hidden = !words;
    if (words && !job.is_stopping && stop.textContent !== words) stop.textContent = words;
    if (!job.is_stopping) stop.disabled = false;
    const bar = place.querySelector("[data-done]");
    if (job.done === null) bar.removeAttribute("value");
    else bar.value = job.done;
    place.querySelector("[data-loss-line]").hidden = job.loss === null;
    if (job.loss !== null) place.querySelector("[data-loss]").textContent = job.loss.toFixed(4);
    timer = setTimeout(ask, 500);
  } catch {
    failures += 1;
    if (failures > 2) sayUnreachable();
    timer = setTimeout(ask, 3000); // the server may be busy
  }
}
