// Draws a process's diagram, marks where it stands, and moves the marks when it moves (follow.js).
(async () => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const sheet = document.getElementById("diagram");
  const viewer = new BpmnJS({ container: sheet });
  try {
    await viewer.importXML(read("drawing"));
  } catch (error) {
    sheet.hidden = true;
    document.getElementById("no-diagram").hidden = false;
    return;
  }
  const canvas = viewer.get("canvas"), elements = viewer.get("elementRegistry");
  let marked = [];

  const mark = (ids, name) => ids.filter((id) => elements.get(id)).forEach((id) => {
    canvas.addMarker(id, name);
    marked.push([id, name]);
  });

  const show = () => {
    const { stands_at: here, been_at: been, label } = read("marks");
    marked.forEach(([id, name]) => canvas.removeMarker(id, name));
    marked = [];
    mark(been.filter((id) => !here.includes(id)), "ax-been");
    mark(here, "ax-here");
    sheet.setAttribute("aria-label", label);
  };

  show();
  document.addEventListener("axiom:followed", show);
  canvas.zoom("fit-viewport", "auto");
  sheet.dataset.drawn = "yes";
})();
