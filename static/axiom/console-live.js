// The bell in the console's header: how many are unread, the newest of them, and a word when one comes.
import { LiveStream } from "./live.js";

const bell = document.getElementById("live");
const place = (name) => bell.querySelector(`[data-show="${name}"]`);
const LISTED = 10, TOAST_MS = 8_000, JUST_NOW_MS = 30_000;
const CATALOG = [
  "extracted", "table.added", "table.removed", "column.modified", "description.updated",
  "snapshot.created", "snapshot.restored", "tag.changed", "glossary.updated",
].map((name) => `metadata.${name}`);
let known = { unread: 0, last_number: 0 };

const ask = (path, how = {}) =>
  fetch(bell.dataset.inbox + path, {
    headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": bell.dataset.csrf },
    ...how,
  });

const showCount = () => {
  place("unread").textContent = known.unread > 99 ? "99+" : known.unread;
  place("unread").hidden = known.unread === 0;
};

const count = async () => {
  try {
    const answer = await ask("unread-count/");
    if (answer.ok) known = await answer.json();
    showCount();
    return answer.status !== 401 && answer.status !== 403;
  } catch {
    return null; // Nobody answers: no word about who may.
  }
};

// Of our own pages only: a notification's text must not lead elsewhere.
const isOurs = (link) => link.startsWith("/") && !link.startsWith("//");

const entry = (told) => {
  const item = document.createElement(isOurs(told.link || "") ? "a" : "p");
  if (item.tagName === "A") item.href = told.link;
  item.className = "ax-told";
  item.dataset.severity = told.severity || "";
  const title = document.createElement("strong"), body = document.createElement("span");
  title.textContent = told.title;
  body.textContent = told.body || "";
  item.append(title, body);
  return item;
};

// Out of the header, above everything: a form's bar of buttons would cover what comes.
const toasts = document.getElementById("live-toasts");
document.body.append(toasts);

const toast = (told) => {
  const word = entry(told);
  toasts.append(word);
  setTimeout(() => word.remove(), TOAST_MS);
};

// What is unread, the newest first; each once, whether it was asked for or came by itself.
const unread = new Map();

const show = (told) => {
  for (const each of told) unread.set(each.number, each);
  const newest = [...unread.values()].sort((a, b) => b.number - a.number).slice(0, LISTED);
  place("list").replaceChildren(...newest.map(entry));
  place("nothing").hidden = newest.length > 0;
};

// A page hears only what comes while it is open: what came before is asked for when somebody looks.
const lookBack = async () => {
  if (!bell.open) return;
  const answer = await ask(`?unread=true&page_size=${LISTED}`).catch(() => null);
  if (answer?.ok) show((await answer.json()).results);
};

const hear = (told) => {
  show([told]);
  if (told.number > known.last_number) {
    known = { unread: known.unread + 1, last_number: told.number };
    showCount();
  }
  if (Date.now() - Date.parse(told.created_at) < JUST_NOW_MS) toast(told);
  tell("notification", told);
};

// For other scripts of a page: `document.addEventListener("axiom:notification", ...)`.
const tell = (name, detail) => document.dispatchEvent(new CustomEvent(`axiom:${name}`, { detail }));

const readAll = async () => {
  const answer = await ask("read-all/", { method: "POST", body: JSON.stringify({ up_to: known.last_number }) });
  if (!answer.ok) return;
  unread.clear();
  show([]);
  await count();
};

if (bell) {
  const live = new LiveStream({ url: bell.dataset.stream, member: bell.dataset.member, may: count, also: CATALOG });
  live.addEventListener("state", ({ detail }) => {
    bell.dataset.state = detail;
    place("state").textContent = bell.dataset[detail] || "";
    tell("state", detail);
  });
  live.addEventListener("notification", ({ detail }) => hear(detail));
  live.addEventListener("chat", ({ detail }) => tell("chat", detail));
  live.addEventListener("resync", count);
  for (const name of [...CATALOG, "resync"])
    live.addEventListener(name, ({ detail }) => tell("catalog", { type: name, ...detail }));
  place("read-all").addEventListener("click", readAll);
  bell.addEventListener("toggle", lookBack);
  count().then(() => live.start());
}
