// Lists of the catalog, and of what stands on it, show changes as they happen.
const LISTS = /\/admin\/(metadata|oracle|synapse|vision)\/\w+\/$/;
// What uses a table is checked a moment after the table changed.
const PAUSE_MS = 500, AGAIN_MS = 3_000;
let due = null, later = null;

const isBusy = () => document.hidden || document.querySelector("#result_list .action-select:checked");

const refresh = async () => {
  if (isBusy()) return expect(AGAIN_MS);
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok || isBusy()) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [shown, fresh] = [document, page].map((each) => each.getElementById("result_list"));
  // Where there was nothing, or is nothing any more, the page itself looks otherwise.
  if (!shown || !fresh) return Boolean(shown) !== Boolean(fresh) && location.reload();
  shown.querySelectorAll("tbody").forEach((row) => row.remove());
  shown.append(...fresh.querySelectorAll("tbody"));
  // Of the rows that are new, the actions' own script knows nothing yet.
  const parent = shown.closest(".result-list-wrapper");
  if (parent?.querySelector(".action-toggle"))
    window.Actions?.(parent.querySelectorAll("tr input.action-select"), { parent });
};

// Many changes are one look: the timer that runs already will see them too.
const expect = (pause) => {
  due ??= setTimeout(() => { due = null; refresh(); }, pause);
};

if (LISTS.test(location.pathname)) {
  document.addEventListener("axiom:catalog", ({ detail }) => {
    expect(detail.in_ms ?? PAUSE_MS);
    clearTimeout(later);
    later = setTimeout(() => expect(0), AGAIN_MS);
  });
}
