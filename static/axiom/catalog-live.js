// Lists of the catalog, and of what stands on it, show changes as they happen.
import { renewList } from "./list.js";

const LISTS = /\/admin\/(metadata|oracle|synapse|vision)\/\w+\/$/;
// What uses a table is checked a moment after the table changed.
const PAUSE_MS = 500, AGAIN_MS = 3_000;
let due = null, later = null;

const refresh = async () => (await renewList()) || expect(AGAIN_MS);

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
