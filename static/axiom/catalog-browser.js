// The catalog's pages: a tree whose branches are fetched when somebody opens them, and parts that
// follow the catalog by themselves.
const PAUSE_MS = 400, AGAIN_MS = 3_000, FRESH_MS = 6_000, MOST_NAMED = 3;
const tree = document.getElementById("catalog-tree");
const status = document.getElementById("catalog-status");

const fetched = async (url) => {
  const answer = await fetch(url, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html").body;
};

// --- The tree ---
const insideOf = (toggle) => toggle.closest("li").querySelector(":scope > .ax-inside");
const isOpen = (toggle) => toggle.getAttribute("aria-expanded") === "true";
const listIn = (place) => place.querySelector(":scope > .ax-branch");

const open = async (toggle) => {
  const inside = insideOf(toggle);
  if (!listIn(inside)) {
    inside.setAttribute("aria-busy", "true");
    const body = await fetched(toggle.dataset.branch);
    inside.removeAttribute("aria-busy");
    if (!body) return (status.textContent = tree.dataset.failed);
    inside.replaceChildren(...body.children);
    mark(inside);
  }
  toggle.setAttribute("aria-expanded", "true");
  inside.hidden = false;
};

const close = (toggle) => {
  toggle.setAttribute("aria-expanded", "false");
  insideOf(toggle).hidden = true;
};

// More tables of a long schema take the place of the button that asked for them.
const extend = async (button) => {
  button.disabled = true;
  const item = button.parentElement, body = await fetched(button.dataset.more);
  button.disabled = false;
  if (!body) return (status.textContent = tree.dataset.failed);
  const wasFirst = item === item.parentElement.firstElementChild;
  const items = [...listIn(body).children].filter((each) => !isOtherSide(each, wasFirst));
  mark(body);
  item.replaceWith(...items);
  (wasFirst ? items.at(-1) : items[0])?.querySelector("a, button")?.focus();
};

// Of a portion in between, what lies on the side where we came from is shown already.
const isOtherSide = (item, wasFirst) => {
  const more = item.querySelector(":scope > [data-more]");
  return more && new URL(more.dataset.more, location.href).searchParams.has(wasFirst ? "after" : "before");
};

// What is shown on the right is marked on the left: the table, and the column where it is in sight.
const PLACE = ["source", "schema", "table"];
const mark = (where) => {
  const here = new URL(location.href).searchParams;
  for (const link of where.querySelectorAll("#catalog-tree a[data-show], .ax-branch a[data-show]")) {
    const there = new URL(link.href).searchParams, column = there.get("column");
    const isSame = !here.has("q") && PLACE.every((name) => here.get(name) === there.get(name));
    if (isSame && (!column || column === here.get("column"))) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
};

// --- What changes ---
// Lines that stay keep their place, their focus and what is open below them.
const merge = (list, fresh) => {
  const shown = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const wanted = [...fresh.children].map((item) => kept(shown.get(item.dataset.key), item));
  for (const item of [...list.children]) if (!wanted.includes(item)) item.remove();
  let at = list.firstElementChild;
  for (const item of wanted) {
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
};

const kept = (mine, item) => {
  if (!mine) return isNew(item);
  const [was, now] = [mine, item].map((each) => each.querySelector(":scope > .ax-node, :scope > button"));
  const hint = was?.querySelector(".ax-hint"), news = now?.querySelector(".ax-hint");
  if (hint && news && hint.textContent !== news.textContent) {
    hint.textContent = news.textContent;
    isNew(mine);
  }
  return mine;
};

const isNew = (item) => {
  item.classList.add("ax-fresh");
  setTimeout(() => item.classList.remove("ax-fresh"), FRESH_MS);
  return item;
};

// As far as somebody came in a long schema, and no further.
const again = (address, list) => {
  const url = new URL(address, location.href), names = [...list.children].filter((item) => item.dataset.key);
  const side = (at, name) => {
    if (list.children.length && list.children[at]?.dataset.key === undefined && names.length)
      url.searchParams.set(name, (at ? names.at(-1) : names[0]).dataset.key);
  };
  side(0, "start");
  side(list.children.length - 1, "end");
  url.searchParams.set("again", "1");
  return url;
};

const renewBranch = async (place, address) => {
  const list = listIn(place), body = list && (await fetched(again(address, list)));
  if (!body) return;
  merge(list, listIn(body));
  mark(list);
  const toggles = list.querySelectorAll(":scope > li > .ax-node > .ax-toggle[aria-expanded=true]");
  await Promise.all([...toggles].map((toggle) => renewBranch(insideOf(toggle), toggle.dataset.branch)));
};

const isUsed = (part) => part.querySelector("form :focus, dialog[open]");

const renewParts = async () => {
  const parts = [...document.querySelectorAll("[data-live]")].filter((part) => !isUsed(part));
  const body = parts.length && (await fetched(location.href));
  if (!body) return;
  for (const part of parts) {
    const fresh = body.querySelector(`[id="${part.id}"]`);
    // What a person can do here is otherwise now: the page as a whole is.
    if (!fresh || fresh.dataset.again !== part.dataset.again) return location.reload();
    if (fresh.innerHTML !== part.innerHTML) swap(part, fresh);
  }
};

// Who stands on a link stands on it afterwards, if it is still there.
const swap = (part, fresh) => {
  const stood = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
  part.replaceChildren(...fresh.childNodes);
  if (stood) part.querySelector(`a[href="${CSS.escape(stood)}"]`)?.focus({ preventScroll: true });
};

const renew = async () => {
  if (document.hidden) return;
  await Promise.all([renewParts(), tree && renewBranch(tree, tree.dataset.branch)]);
};

let due = null, later = null, named = new Set();
const expect = (pause) => {
  due ??= setTimeout(() => { due = null; renew().then(tell); }, pause);
};

const remember = ({ type, payload }) => {
  if (type === "resync") return named.add("");
  const { schema, table_name: table, column_name: column, term } = payload ?? {};
  const name = [schema, table, column].filter(Boolean).join(".") || term;
  if (name) named.add(name);
};

const tell = () => {
  if (!status || !named.size) return;
  const names = [...named], isMuch = names.includes("") || names.length > MOST_NAMED;
  status.textContent = isMuch ? status.dataset.renewed : `${status.dataset.updated} ${names.join(", ")}`;
  named = new Set();
};

document.addEventListener("axiom:catalog", ({ detail }) => {
  remember(detail);
  expect(detail.in_ms ?? PAUSE_MS);
  // What uses a table is checked a moment after the table changed.
  clearTimeout(later);
  later = setTimeout(() => expect(0), AGAIN_MS);
});
document.addEventListener("visibilitychange", () => expect(0));

// --- What people do ---
const show = async (address, push) => {
  const detail = document.getElementById("catalog-detail"), body = await fetched(address);
  const fresh = body?.querySelector("#catalog-detail");
  if (!fresh) return location.assign(address);
  if (push) history.pushState(null, "", address);
  detail.replaceChildren(...fresh.childNodes);
  mark(document);
  if (push) detail.focus({ preventScroll: matchMedia("(min-width: 1024px)").matches });
};

const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-show]"), toggle = event.target.closest(".ax-toggle[data-branch]");
  const label = event.target.closest(".ax-node-label"), more = event.target.closest("[data-more]");
  const branch = toggle ?? label?.parentElement.querySelector(".ax-toggle[data-branch]");
  if (link && isPlain(event)) {
    event.preventDefault();
    show(link.href, true);
  } else if (branch) isOpen(branch) ? close(branch) : open(branch);
  else if (more) extend(more);
});

// Arrows, as in every tree; the tabulator works as well.
tree?.addEventListener("keydown", (event) => {
  const stops = [...tree.querySelectorAll("a, button")].filter((each) => each.offsetParent);
  const at = stops.indexOf(event.target), toggle = event.target.closest(".ax-node")?.querySelector(".ax-toggle[data-branch]");
  if (event.key === "ArrowDown") stops[at + 1]?.focus();
  else if (event.key === "ArrowUp") stops[at - 1]?.focus();
  else if (event.key === "ArrowRight" && toggle && !isOpen(toggle)) open(toggle);
  else if (event.key === "ArrowLeft" && toggle && isOpen(toggle)) close(toggle);
  else return;
  event.preventDefault();
});

if (tree) addEventListener("popstate", () => show(location.href, false));

// A run that is under way says nothing of its own accord.
const follow = () => {
  const pause = Math.min(...[...document.querySelectorAll("[data-again]")].map((part) => Number(part.dataset.again)));
  if (Number.isFinite(pause)) setTimeout(() => (document.hidden ? null : renewParts()), pause);
  if (Number.isFinite(pause)) setTimeout(follow, pause);
};
follow();
mark(document);
