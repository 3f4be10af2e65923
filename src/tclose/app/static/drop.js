// Dropped and chosen files: sent as they are, piece by piece; the server keeps them in a private file.
export function takeDrops() {
  const place = document.querySelector("[data-drop]");
  if (!place) return;
  const input = place.querySelector("input[type=file]");
  for (const name of ["dragenter", "dragover"]) {
    place.addEventListener(name, (event) => { event.preventDefault(); place.classList.add("is-over"); });
  }
  place.addEventListener("dragleave", () => place.classList.remove("is-over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("is-over");
    if (event.dataTransfer.files.length) send(place, event.dataTransfer.files[0]);
  });
  input.addEventListener("change", () => { if (input.files.length) send(place, input.files[0]); });
  for (const again of document.querySelectorAll("input[type=file][data-project]")) {
    again.addEventListener("change", () => { if (again.files.length) send(place, again.files[0], again); });
  }
}

function send(place, file, again) {
  const bar = place.querySelector("progress");
  const said = (again ? again.parentElement : place).querySelector("[data-drop-said]");
  if (file.size > Number(place.dataset.most)) {
    said.textContent = place.dataset.tooLarge;
    return;
  }
  const request = new XMLHttpRequest();
  request.open("POST", "/upload");
  request.setRequestHeader("content-type", "application/octet-stream");
  request.setRequestHeader("x-form-token", document.body.dataset.formToken);
  request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
  request.setRequestHeader("x-keep-copy", document.getElementById("keep-copy").checked ? "yes" : "no");
  if (again) request.setRequestHeader("x-project", again.dataset.project);
  bar.hidden = false;
  said.textContent = "";
  request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
  request.addEventListener("loadend", () => {
    bar.hidden = true;
    if (request.status === 200) location.assign(JSON.parse(request.responseText).go);
    else said.textContent = request.responseText || document.body.dataset.notSent;
  });
  request.send(file);
}

// Files of Windows programs are often not UTF-8; read as such, an umlaut would be lost without a word.
function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

export function readFilesIntoFields() {
  for (const input of document.querySelectorAll("input[type=file][data-into]")) {
    input.addEventListener("change", async () => {
      if (input.files.length) document.getElementById(input.dataset.into).value = decode(await input.files[0].arrayBuffer());
    });
  }
}
