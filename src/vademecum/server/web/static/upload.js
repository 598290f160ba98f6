// Uploading: files may be dropped anywhere on the page, and it shows how far they are.
import { tell } from "./page.js";

const form = document.getElementById("upload");

if (form) {
  const progress = document.getElementById("sent");
  const brought = document.getElementById("brought");
  const button = form.querySelector("button.primary");

  const upload = () => {
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("HX-Request", "true");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress.value = (100 * event.loaded) / event.total;
    });
    request.addEventListener("loadend", () => {
      progress.hidden = true;
      button.disabled = false;
      if (request.status === 401) { window.location.assign("/sign-in"); return; }
      if (request.status === 0) { tell(document.body.dataset.sending); return; }
      // A part of a page that the server made: every value in it was escaped there.
      brought.innerHTML = request.responseText;
      if (request.status < 300) {
        tell(form.dataset.waiting);
        form.reset();
        setTimeout(() => window.location.assign(`/sources${window.location.search}`), 900);
      }
    });
    progress.value = 0;
    progress.hidden = false;
    button.disabled = true;
    request.send(new FormData(form));
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    upload();
  });
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      form.classList.add("over");
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) form.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    form.classList.remove("over");
    form.elements.namedItem("file").files = event.dataTransfer.files;
    upload();
  });
}
