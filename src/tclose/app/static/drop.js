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
}

function send(place, file) {
  const [bar, said] = [place.querySelector("progress"), place.querySelector("[data-drop-said]")];
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
  bar.hidden = false;
  said.textContent = "";
  request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
  request.addEventListener("loadend", () => {
    bar.hidden = true;
    if (request.status === 200) location.assign(JSON.parse(request.responseText).go);
    else said.textContent = request.responseText || "The file could not be sent.";
  });
  request.send(file);
}

export function readFilesIntoFields() {
  for (const input of document.querySelectorAll("input[type=file][data-into]")) {
    input.addEventListener("change", async () => {
      if (input.files.length) document.getElementById(input.dataset.into).value = await input.files[0].text();
    });
  }
}
