// The inbox follows what happens, and an alert's page fetches what takes a moment.
import { isBusy, renewList } from "./list.js";

const EVERY_MS = 20_000, SOON_MS = 400;

if (document.getElementById("changelist")) {
  // Nor is somebody disturbed who names a view.
  const renew = () => renewList(() => isBusy() || document.querySelector(".ax-views details[open]"));
  let soon;
  document.addEventListener("axiom:notification", () => {
    clearTimeout(soon);
    soon = setTimeout(renew, SOON_MS);
  });
  document.addEventListener("visibilitychange", renew);
  setInterval(renew, EVERY_MS);
}

const fill = async (place) => {
  const answer = await fetch(place.dataset.fetch, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok || answer.redirected) return (place.textContent = place.dataset.failed);
  const part = document.createElement("div");
  part.innerHTML = await answer.text();
  place.closest(".ax-why").replaceWith(...part.children);
};
document.querySelectorAll("[data-fetch]").forEach(fill);
