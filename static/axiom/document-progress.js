// Follows a document until nothing more happens by itself, then shows the page anew with its fields.
(() => {
  const panel = document.getElementById("document-progress");
  if (!panel || panel.dataset.settled === "1") return;
  const place = (name) => panel.querySelector(`[data-show="${name}"]`);
  let etag = "";

  const show = (progress) => {
    place("state").textContent = progress.state_label;
    place("error").textContent = progress.error;
    place("pages").textContent = progress.pages_count
      ? `${progress.pages_done} / ${progress.pages_count} ${panel.dataset.pages}`
      : "";
    const bar = panel.querySelector("progress");
    bar.max = progress.pages_count || 1;
    bar.value = progress.pages_done;
    if (progress.is_settled) location.reload();
  };

  const ask = async () => {
    let pause = 2;
    try {
      // The browser's own cache would answer 304 as 200 with what it has.
      const answer = await fetch(panel.dataset.url, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      pause = Number(answer.headers.get("Retry-After")) || pause;
      if (answer.ok) {
        etag = answer.headers.get("ETag");
        show(await answer.json());
      }
    } catch {
      pause = 10;
    }
    setTimeout(ask, pause * 1000);
  };
  setTimeout(ask, 1000);
})();
