// Keeps parts of a page as they are on the server: asks for each element with `data-follow` every few
// seconds, and at once when a notification comes. Says what is new to who cannot see it.
(() => {
  const EVERY_MS = 4_000, AFTER_TROUBLE_MS = 15_000, SOON_MS = 300;

  const follow = (part) => {
    const newest = () => part.firstElementChild?.dataset.newest;
    const news = document.querySelector(`[data-news-of="${part.id}"]`);
    let etag = "", timer = null;

    // Whoever is in it with the keyboard, or has marked something, keeps what they have.
    const isInUse = () =>
      document.hidden || part.contains(document.activeElement) ||
      (!getSelection().isCollapsed && part.contains(getSelection().anchorNode));

    const show = (html) => {
      const before = newest();
      part.innerHTML = html;
      if (news && newest() !== before) news.textContent = part.firstElementChild.dataset.news || "";
      part.dispatchEvent(new CustomEvent("axiom:followed", { bubbles: true }));
    };

    const ask = async () => {
      const answer = await fetch(part.dataset.follow, {
        headers: { Accept: "text/html", ...(etag && { "If-None-Match": etag }) }, cache: "no-store",
      });
      // Logged out meanwhile, or it is gone: what is shown stays, and nobody is asked any more.
      if (answer.redirected || (answer.status >= 400 && answer.status < 500)) return null;
      if (answer.ok && !isInUse()) {
        etag = answer.headers.get("ETag") || "";
        show(await answer.text());
      }
      return EVERY_MS;
    };

    const turn = async () => {
      const pause = isInUse() ? EVERY_MS : await ask().catch(() => AFTER_TROUBLE_MS);
      if (pause) later(pause);
    };
    const later = (pause) => {
      clearTimeout(timer);
      timer = setTimeout(turn, pause);
    };

    document.addEventListener("axiom:notification", () => later(SOON_MS));
    document.addEventListener("visibilitychange", () => document.hidden || later(SOON_MS));
    later(EVERY_MS);
  };

  document.querySelectorAll("[data-follow]").forEach(follow);
})();
