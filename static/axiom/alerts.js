// The inbox follows what happens, and an alert's page fetches what takes a moment.
const EVERY_MS = 20_000, SOON_MS = 400;

// Somebody who chooses rows, or writes, is not disturbed.
const isBusy = () =>
  document.hidden || document.querySelector("#result_list .action-select:checked, .ax-views details[open]");

let asked = 0;
const renew = async () => {
  if (isBusy()) return;
  const mine = ++asked;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  // An older answer that comes late must not overwrite a newer one.
  if (!answer?.ok || answer.redirected || mine !== asked || isBusy()) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [shown, fresh] = [document, page].map((each) => each.getElementById("result_list"));
  // Where there was nothing, or is nothing any more, the page itself looks otherwise.
  if (!shown || !fresh) return Boolean(shown) !== Boolean(fresh) && location.reload();
  shown.querySelectorAll("tbody").forEach((rows) => rows.remove());
  shown.append(...fresh.querySelectorAll("tbody"));
  // Of the rows that are new, the actions' own script knows nothing yet.
  const parent = shown.closest(".result-list-wrapper");
  if (parent?.querySelector(".action-toggle"))
    window.Actions?.(parent.querySelectorAll("tr input.action-select"), { parent });
};

if (document.getElementById("changelist")) {
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
