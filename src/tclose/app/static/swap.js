// Forms with data-swap are sent in the background, and the page they lead to takes the place of this one:
// where the keyboard and the scroll bars are stays. Forms and fields with data-auto are sent when they change.
let again = () => {};
let sending = false;

export function swapForms(begin) {
  again = begin;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-swap]")) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form || !form.matches("form[data-swap]")) return;
    if (event.target.type === "file" || event.target.hasAttribute("data-for")) return;
    if (!form.hasAttribute("data-auto") && !event.target.hasAttribute("data-auto")) return;
    if (event.target.tagName === "SELECT" && byKeyboard) wait(event.target);
    else form.requestSubmit();
  });
  document.addEventListener("keydown", () => { byKeyboard = true; }, true);
  document.addEventListener("pointerdown", () => { byKeyboard = false; }, true);
  document.addEventListener("focusout", (event) => { if (event.target === waiting) sendWaiting(); });
}

// With the keyboard a list passes other choices on its way to the one that is meant: that is sent when it is left,
// or after a while.
let byKeyboard = false;
let waiting = null;
let timer = 0;

function wait(list) {
  clearTimeout(timer);
  waiting = list;
  timer = setTimeout(sendWaiting, 1200);
}

function sendWaiting() {
  clearTimeout(timer);
  const list = waiting;
  waiting = null;
  if (list && list.isConnected) list.form.requestSubmit();
}

// What was changed before this script was there is sent now.
export function sendEarlyChanges() {
  for (const form of document.querySelectorAll("form[data-swap][data-auto]")) {
    const isChanged = [...form.elements].some((each) =>
      each.type === "radio" ? each.checked !== each.defaultChecked
        : each.tagName === "SELECT" && [...each.options].some((option) => option.selected !== option.defaultSelected));
    if (isChanged) return form.requestSubmit();
  }
}

async function send(form, submitter) {
  if (sending) return;
  sending = true;
  document.body.classList.add("is-sending");
  try {
    const body = new URLSearchParams(new FormData(form));
    if (submitter && submitter.name) body.append(submitter.name, submitter.value);
    const answer = await fetch(form.action, { method: "POST", body, credentials: "same-origin" });
    show(await answer.text(), answer.redirected ? answer.url : null);
  } catch {
    location.reload();
  } finally {
    sending = false;
    document.body.classList.remove("is-sending");
  }
}

export function show(html, address) {
  const focused = document.activeElement && document.activeElement.id;
  const [left, top] = [scrollX, scrollY];
  const page = new DOMParser().parseFromString(html, "text/html");
  const main = page.querySelector("main");
  const header = page.querySelector("header");
  if (!main || !header) return location.reload();
  const isOther = main.dataset.step !== document.querySelector("main").dataset.step;
  document.querySelector("main").replaceWith(main);
  document.querySelector("header").replaceWith(header);
  document.title = page.title;
  if (address && address !== location.href) history.pushState(null, "", address);
  const problem = document.getElementById("problem");
  const back = focused && document.getElementById(focused);
  if (problem) problem.scrollIntoView({ block: "nearest" });
  else if (isOther) scrollTo(0, 0);
  else scrollTo(left, top);
  (back || main).focus({ preventScroll: true });
  again();
}

addEventListener("popstate", () => location.reload());
