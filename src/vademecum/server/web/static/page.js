// What every page does with a script: it asks before it deletes, tells times in the reader's zone,
// and says what a request of htmx came to. Without it the pages still work.

const notice = document.getElementById("notice");
let hiding;

export function tell(text) {
  notice.textContent = text;
  show();
}

// `html` is a part of a page that the server made: every value in it was escaped there.
export function tellPart(html) {
  notice.innerHTML = html;
  show();
}

function show() {
  notice.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { notice.hidden = true; }, 8000);
}

export function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const parts = { dateStyle: "medium", timeStyle: "short" };
    time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, parts).format(moment);
    time.dataset.local = "";
  }
}

document.addEventListener("submit", (event) => {
  const words = event.target.dataset.confirm;
  if (words && !window.confirm(words)) event.preventDefault();
}, true);

for (const form of document.querySelectorAll("form[data-autosubmit]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const open of document.querySelectorAll("details.who[open], .talk-list details[open]")) open.open = false;
  notice.hidden = true;
});

if (window.matchMedia("(max-width: 899px)").matches) {
  for (const fold of document.querySelectorAll("details[data-fold]")) fold.open = false;
}

document.body.addEventListener("htmx:responseError", (event) => {
  const request = event.detail.xhr;
  if (request.status === 401) { window.location.assign("/sign-in"); return; }
  const html = (request.getResponseHeader("content-type") || "").startsWith("text/html");
  if (html) tellPart(request.responseText); else tell(document.body.dataset.sending);
});
document.body.addEventListener("htmx:sendError", () => tell(document.body.dataset.sending));
document.body.addEventListener("htmx:afterSwap", (event) => localTimes(event.target.parentElement || document));
localTimes(document);
