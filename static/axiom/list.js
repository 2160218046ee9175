// Puts the rows of a list as they are now in the place of those that are shown, without a reload.

// Somebody who chooses rows is not disturbed.
export const isBusy = () => document.hidden || document.querySelector("#result_list .action-select:checked");

let asked = 0;

// False: somebody is busy, so that it has to be tried again.
export const renewList = async (busy = isBusy) => {
  if (busy()) return false;
  const mine = ++asked;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  // An older answer that comes late must not overwrite a newer one.
  if (!answer?.ok || answer.redirected || mine !== asked || busy()) return true;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [shown, fresh] = [document, page].map((each) => each.getElementById("result_list"));
  // Where there was nothing, or is nothing any more, the page itself looks otherwise.
  if (!shown || !fresh) {
    if (Boolean(shown) !== Boolean(fresh)) location.reload();
    return true;
  }
  shown.querySelectorAll("tbody").forEach((rows) => rows.remove());
  shown.append(...fresh.querySelectorAll("tbody"));
  // Of the rows that are new, the actions' own script knows nothing yet.
  const parent = shown.closest(".result-list-wrapper");
  if (parent?.querySelector(".action-toggle"))
    window.Actions?.(parent.querySelectorAll("tr input.action-select"), { parent });
  return true;
};
