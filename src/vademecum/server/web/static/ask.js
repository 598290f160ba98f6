// Asking: the answer comes as events, each a part of the page that the server made and escaped.
import { localTimes, tell, tellPart } from "./page.js";

const composer = document.getElementById("composer");
const question = document.getElementById("question");
const send = document.getElementById("send");
const stop = document.getElementById("stop");
const turns = document.getElementById("turns");
const evidence = document.getElementById("evidence");
const thread = turns.closest(".thread");
let asking = null;

// ---- the stream

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    let end;
    while ((end = waiting.indexOf("\n\n")) >= 0) {
      const lines = waiting.slice(0, end).split("\n");
      waiting = waiting.slice(end + 2);
      const name = lines.find((line) => line.startsWith("event: "));
      const data = lines.find((line) => line.startsWith("data: "));
      if (name && data) yield { name: name.slice(7), data: JSON.parse(data.slice(6)) };
    }
  }
}

function part(html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content;
}

class Stages {
  constructor() {
    this.list = document.createElement("ol");
    this.list.className = "stage";
    this.began = performance.now();
  }

  next(text) {
    const last = this.list.lastElementChild;
    if (last) {
      last.removeAttribute("aria-current");
      last.title = `${Math.round(performance.now() - this.began)} ms`;
    }
    this.began = performance.now();
    const item = document.createElement("li");
    item.textContent = text;
    item.setAttribute("aria-current", "step");
    this.list.append(item);
  }
}

async function ask(fields, shown, replaced) {
  if (asking) return;
  asking = new AbortController();
  document.getElementById("welcome")?.remove();
  if (shown !== null) {
    const asked = document.createElement("div");
    asked.className = "question";
    const words = document.createElement("p");
    words.textContent = shown;
    asked.append(words);
    turns.append(asked);
  }
  const article = document.createElement("article");
  article.className = "answer";
  const stages = new Stages();
  const sentences = document.createElement("div");
  sentences.className = "sentences";
  article.append(stages.list, sentences);
  if (replaced) replaced.replaceWith(article); else turns.append(article);
  const chosen = document.getElementById("collection").value;
  stages.next(chosen ? composer.dataset.searchingOne : composer.dataset.searching);
  busy(true);
  (article.previousElementSibling || article).scrollIntoView({ block: "start" });
  let ended = false;
  try {
    const answer = await fetch("/ask", {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { Accept: "text/event-stream", "HX-Request": "true" },
      signal: asking.signal,
    });
    if (answer.status === 401) { window.location.assign("/sign-in"); return; }
    if (!answer.ok) {
      sentences.replaceChildren(part(await answer.text()));
      stages.list.remove();
      ended = true;
      return;
    }
    for await (const { name, data } of events(answer.body)) {
      if (name === "stage") stages.next(data.text);
      else if (name === "sentence") { sentences.append(part(data.html)); follow(article); }
      else if (name === "error") { sentences.append(part(data.html)); stages.list.remove(); ended = true; }
      else if (name === "done") { ended = true; finish(article, data); }
    }
  } catch (error) {
    if (error.name !== "AbortError") note(article, composer.dataset.lost);
    else note(article, composer.dataset.stopped);
    ended = true;
  } finally {
    if (!ended) note(article, composer.dataset.lost);
    asking = null;
    busy(false);
  }
}

function note(article, text) {
  article.querySelector(".stage")?.remove();
  const told = document.createElement("p");
  told.className = "pill warn";
  told.textContent = text;
  article.append(told);
}

function finish(article, data) {
  const made = part(data.html);
  for (const again of turns.querySelectorAll("[data-again]")) again.remove();
  const whole = made.firstElementChild;
  article.replaceWith(whole);
  window.htmx?.process(whole);
  localTimes(whole);
  follow(whole);
  if (!data.conversation) return;
  let field = composer.elements.namedItem("conversation");
  if (!field) {
    field = document.createElement("input");
    field.type = "hidden";
    field.name = "conversation";
    composer.append(field);
    window.history.replaceState(null, "", data.url);
    list(data.url);
  }
  field.value = data.conversation;
}

// A new conversation appears in the list at once.
async function list(url) {
  const answer = await fetch(url);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector(".talks");
  const old = document.querySelector(".talks");
  if (!fresh || !old) return;
  const open = old.querySelector("details[data-fold]").open;
  old.replaceWith(document.adoptNode(fresh));
  document.querySelector(".talks details[data-fold]").open = open;
}

function busy(now) {
  send.disabled = now;
  stop.hidden = !now;
  if (!now) question.focus({ preventScroll: true });
}

// Keep the end of what is being written in sight, unless its reader has scrolled away.
function follow(article) {
  const end = article.getBoundingClientRect().bottom - window.innerHeight;
  if (end < 400) article.scrollIntoView({ block: article.offsetHeight > thread.clientHeight - 200 ? "end" : "nearest" });
}

function fieldsOf(form) {
  const fields = new FormData(form);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) fields.set("zone", zone);
  return fields;
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const words = question.value.trim();
  if (!words || asking) return;
  const fields = fieldsOf(composer);
  question.value = "";
  ask(fields, words, null);
});
question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    composer.requestSubmit();
  }
});
stop.addEventListener("click", () => asking?.abort());

// ---- what stands under an answer

turns.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.matches("[data-again]")) {
    event.preventDefault();
    ask(fieldsOf(form), null, form.closest("[data-answer]"));
  } else if (form.matches("[data-feedback]")) {
    event.preventDefault();
    const answer = await fetch(form.action, {
      method: "POST",
      body: JSON.stringify(Object.fromEntries(new FormData(form))),
      headers: { "Content-Type": "application/json" },
    }).catch(() => null);
    if (answer?.ok) form.replaceWith(document.createTextNode(form.dataset.thanks));
    else tell(form.dataset.failed);
  }
});

turns.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(copy.dataset.copy);
    tell(copy.dataset.done);
  }
  const differently = event.target.closest("[data-differently]");
  if (differently) {
    event.preventDefault();
    question.value = differently.dataset.differently;
    question.focus();
    question.select();
  }
});

// ---- evidence

let opened = null;

function links() {
  return [...turns.querySelectorAll("a[data-evidence]")];
}

async function open(link) {
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (answer?.status === 401) { window.location.assign("/sign-in"); return; }
  if (!answer) { tell(document.body.dataset.sending); return; }
  const html = await answer.text();
  if (!answer.ok) { tellPart(html); return; }
  opened?.classList.remove("open");
  opened = link;
  link.classList.add("open");
  evidence.replaceChildren(part(html));
  evidence.classList.add("shown");
  evidence.scrollTop = 0;
  evidence.focus({ preventScroll: true });
  const mark = evidence.querySelector("#cited");
  const box = mark?.closest(".extract");
  if (mark && box) box.scrollTop = Math.max(0, mark.offsetTop - box.clientHeight / 3);
}

function close() {
  evidence.classList.remove("shown");
  opened?.classList.remove("open");
  opened?.focus();
}

function step(by) {
  const every = links();
  if (!every.length) return;
  const at = every.indexOf(opened);
  open(every[(at + by + every.length) % every.length]);
}

turns.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-evidence]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(link);
});
evidence.addEventListener("click", (event) => {
  if (event.target.closest("[data-next]")) step(1);
  else if (event.target.closest("[data-previous]")) step(-1);
  else if (event.target.closest("[data-close]")) close();
});
evidence.addEventListener("toggle", (event) => {
  const mark = event.target.querySelector?.("#cited");
  const box = mark?.closest(".extract");
  if (mark && box) box.scrollTop = Math.max(0, mark.offsetTop - box.clientHeight / 3);
}, true);
document.addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") step(1);
  else if (event.key === "p") step(-1);
  else if (event.key === "Escape" && opened) close();
});

// A tip that would stand above the thread opens below its sentence.
function aside(event) {
  const said = event.target.closest?.(".chip-place")?.closest(".said");
  if (!said) return;
  const top = Math.max(thread.getBoundingClientRect().top, 0);
  said.classList.toggle("below", said.getBoundingClientRect().top - top < 200);
}
turns.addEventListener("pointerover", aside);
turns.addEventListener("focusin", aside);

document.getElementById("end")?.scrollIntoView({ block: "end" });
if (question.value) question.select();
