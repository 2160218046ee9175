// Keeps the first page up to date: when a notification comes, and every quarter of a minute.
const EVERY_MS = 15_000, SOON_MS = 400;
const panels = document.getElementById("now");
let asked = 0;

const focusable = () => [...panels.querySelectorAll("a, summary, [tabindex]")];

// What somebody has opened stays open, and who walks by keyboard stays where they are.
const replace = (text) => {
  const open = new Set([...panels.querySelectorAll("details[open]")].map((each) => each.dataset.keep));
  const place = focusable().indexOf(document.activeElement);
  panels.innerHTML = text;
  for (const each of panels.querySelectorAll("details")) each.open = open.has(each.dataset.keep);
  if (place >= 0) focusable()[place]?.focus({ preventScroll: true });
};

const renew = async () => {
  if (document.hidden) return;
  const mine = ++asked;
  try {
    const answer = await fetch(panels.dataset.url, { headers: { Accept: "text/html" } });
    // An older answer that comes late must not overwrite a newer one.
    if (answer.ok && !answer.redirected && mine === asked) replace(await answer.text());
  } catch {
    // Nobody answers: what is shown stays, and the next turn asks again.
  }
};

if (panels) {
  let soon;
  document.addEventListener("axiom:notification", () => {
    clearTimeout(soon);
    soon = setTimeout(renew, SOON_MS);
  });
  document.addEventListener("visibilitychange", renew);
  setInterval(renew, EVERY_MS);
}
