// Another row for a name and a value, as often as somebody needs one.
document.querySelectorAll("[data-values]").forEach((rows) => {
  const more = rows.parentElement.querySelector("[data-add-value]");
  more.hidden = false;
  more.addEventListener("click", () => {
    const row = rows.lastElementChild.cloneNode(true);
    row.querySelectorAll("input").forEach((field) => { field.value = ""; });
    rows.append(row);
    row.querySelector("input").focus();
  });
});
