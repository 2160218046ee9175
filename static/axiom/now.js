// Keeps the first page up to date: when a notification comes, and every quarter of a minute.
const EVERY_MS = 15_000, SOON_MS = 400;
const panels = document.getElementById("now");
let asked = 0;

const renew = async () => {
  if (document.hidden) return;
  const mine = ++asked;
  try {
    const answer = await fetch(panels.dataset.url, { headers: { Accept: "text/html" } });
    // An older answer that comes late must not overwrite a newer one.
    if (answer.ok && !answer.redirected && mine === asked) panels.innerHTML = await answer.text();
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
