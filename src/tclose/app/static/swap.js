// Forms with data-swap are sent in the background, and the page they lead to takes the place of this one:
// where the keyboard and the scroll bars are stays. Forms and fields with data-auto are sent when they change.
let again = () => {};

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

// What was changed before this script was there is sent now. A field in which someone is still typing is sent when it is
// left, as any other.
export function sendEarlyChanges() {
  for (const form of document.querySelectorAll("form[data-swap][data-auto]")) {
    if ([...form.elements].some((each) => each !== document.activeElement && isChanged(each))) form.requestSubmit();
  }
}

function isChanged(field) {
  const served = asServed(field);
  return Boolean(field.name) && (field.value !== served.value || field.checked !== served.checked);
}

// A field as it came: what a browser makes of its attributes before anybody touches it.
export function asServed(field) {
  const copy = document.createElement("template");
  copy.innerHTML = field.outerHTML;
  return copy.content.firstElementChild;
}

// One form is sent after the other: what is changed while another is under way waits for its turn, and is then a
// change of what the page has become. The same form twice in a row is sent once.
const queue = [];
let isSending = false;

function send(form, submitter) {
  const body = new URLSearchParams(new FormData(form));
  if (submitter && submitter.name) body.append(submitter.name, submitter.value);
  const same = JSON.stringify([form.action, ...body]);
  if (queue.some((each) => each.same === same)) return;
  queue.push({ action: form.action, body, same });
  if (!isSending) sendAll();
}

async function sendAll() {
  isSending = true;
  document.body.classList.add("is-sending");
  try {
    while (queue.length) {
      const { action, body } = queue[0];
      const answer = await fetch(action, { method: "POST", body, credentials: "same-origin" });
      const text = await answer.text();
      queue.shift();
      if (!answer.ok) queue.length = 0;
      if (!queue.length) show(text, answer.redirected ? answer.url : null);
      else queue[0].body.set("revision", revisionOf(text));
    }
  } catch {
    sayUnreachable();
  } finally {
    queue.length = 0;
    isSending = false;
    document.body.classList.remove("is-sending");
  }
}

// The server is gone: nothing that is done on this page counts any more, and a reload would show the browser's own error.
export function sayUnreachable() {
  if (document.getElementById("unreachable")) return;
  const said = document.createElement("div");
  said.id = "unreachable";
  said.className = "problem";
  said.setAttribute("role", "alert");
  said.textContent = document.body.dataset.unreachable;
  document.querySelector("main").prepend(said);
  said.scrollIntoView({ block: "nearest" });
}

function revisionOf(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  return page.querySelector("header input[name=revision]").value;
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
