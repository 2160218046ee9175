// Draws a process's diagram and marks where it stands. Nothing is asked of any server.
(async () => {
  const standing = JSON.parse(document.getElementById("standing").textContent);
  const sheet = document.getElementById("diagram");
  const viewer = new BpmnJS({ container: sheet });
  try {
    await viewer.importXML(standing.bpmn);
  } catch (error) {
    sheet.hidden = true;
    document.getElementById("no-diagram").hidden = false;
    return;
  }
  const canvas = viewer.get("canvas"), elements = viewer.get("elementRegistry");
  const mark = (ids, name) => ids.filter(id => elements.get(id)).forEach(id => canvas.addMarker(id, name));
  mark(standing.been_at.filter(id => !standing.stands_at.includes(id)), "ax-been");
  mark(standing.stands_at, "ax-here");
  canvas.zoom("fit-viewport", "auto");
  sheet.dataset.drawn = "yes";
})();
