// Puts a rule together in a form. The text area holds the JSON that is saved; the form and the text
// follow each other. What the rule means, and whether it is right, the server says.

const PAUSE_MS = 250;
const SHARED = ["field", "operator", "threshold", "window_hours", "within_hours", "group_by", "where", "first", "then", "conditions", "condition"];

// What a part is when it is chosen.
const FRESH = {
  always: () => ({}),
  threshold: () => ({ field: "", operator: ">" }),
  deadline: () => ({ days_before: 7, field: "deadline" }),
  all: () => ({ conditions: [fresh("threshold")] }),
  any: () => ({ conditions: [fresh("threshold")] }),
  not: () => ({ condition: fresh("threshold") }),
  pattern: () => ({ min_count: 3, window_hours: 24 }),
  aggregate: () => ({ function: "sum", field: "", operator: ">", window_hours: 24 }),
  sequence: () => ({ first: { event_type: "" }, then: { event_type: "" }, within_hours: 24 }),
  absence: () => ({ first: { event_type: "" }, then: { event_type: "" }, within_hours: 24 }),
};
const fresh = (type) => ({ type, ...FRESH[type]() });

// Another type of the same part: what both know stays, and a condition goes into what holds several.
const changed = (part, type) => {
  const next = fresh(type);
  for (const key of SHARED) if (key in next && key in part && part[key] !== "") next[key] = part[key];
  if (next.type !== "deadline" && "threshold" in part && "operator" in next) next.threshold = part.threshold;
  if (["pattern", "aggregate"].includes(type))
    for (const key of ["where", "group_by"]) if (key in part) next[key] = part[key];
  const isCondition = ["threshold", "deadline", "always", "all", "any", "not"].includes(part.type);
  const holdsSeveral = (each) => ["all", "any"].includes(each);
  if (holdsSeveral(type) && isCondition && !holdsSeveral(part.type)) next.conditions = [part];
  if (type === "not" && isCondition && part.type !== "not") next.condition = part;
  return next;
};

const kindOf = (value) => {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "object") return "field";
  return typeof value === "string" ? "text" : "number";
};
const csrf = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
const post = (url, asked) =>
  fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf() },
    body: JSON.stringify(asked),
  });

class Trying {
  // Asks what the rule would have done, and shows the answer.
  constructor(box, asked) {
    this.box = box;
    this.place = box.querySelector("[data-show=trial]");
    const button = box.querySelector("[data-do=try]");
    button?.addEventListener("click", () => this.run(button, asked()));
    // Enter in the number of days tries; it must not save.
    box.querySelector("[data-show=days]")?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      button.click();
    });
  }

  async run(button, asked) {
    button.disabled = true;
    this.place.textContent = this.box.dataset.trying;
    const days = Number(this.box.querySelector("[data-show=days]").value);
    try {
      const answer = await post(this.box.dataset.try, { ...asked, days });
      if (!answer.ok) throw new Error(answer.status);
      this.place.innerHTML = await answer.text();
    } catch {
      this.place.textContent = this.box.dataset.failed;
    }
    button.disabled = false;
  }
}

class Builder {
  constructor(box) {
    this.box = box;
    this.text = document.getElementById(box.dataset.ruleBuilder);
    this.types = new Types(document.getElementById(box.dataset.types), this);
    this.known = JSON.parse(document.getElementById("known-event-types").textContent);
    this.touched = this.text.closest(".errors") !== null;
    this.rule = this.parsed() ?? fresh("threshold");
    this.form = this.show("form");
    this.form.hidden = false;
    this.text.addEventListener("input", () => this.followText());
    new Trying(box, () => this.asked());
    this.draw();
    this.write();
  }

  show(name) {
    return this.box.querySelector(`[data-show="${name}"]`);
  }

  copy(name) {
    return this.box.querySelector(`template[data-part="${name}"]`).content.cloneNode(true);
  }

  asked() {
    return { rule: this.rule, event_types: this.types.chosen() };
  }

  parsed() {
    try {
      const rule = JSON.parse(this.text.value);
      return rule && typeof rule === "object" && rule.type in FRESH ? rule : null;
    } catch {
      return null;
    }
  }

  // Somebody wrote JSON: the form shows it, unless it cannot be read.
  followText() {
    this.touched = true;
    try {
      this.rule = JSON.parse(this.text.value);
    } catch {
      return this.tell({ errors: [{ pointer: "#/rule", detail: this.box.dataset.unreadable }] });
    }
    this.draw();
    this.preview();
  }

  // The form changed: the JSON follows.
  change({ redraw = false, focus = "" } = {}) {
    this.touched = true;
    if (redraw) this.draw();
    if (focus) this.form.querySelector(focus)?.focus();
    this.write();
  }

  write() {
    this.text.value = JSON.stringify(this.rule, null, 2);
    this.preview();
  }

  draw() {
    this.form.replaceChildren(...this.drawn());
    this.types.draw(["sequence", "absence"].includes(this.rule?.type));
    this.suggest();
  }

  // Nothing for JSON that no form has fields for: the server says what is wrong with it.
  drawn() {
    if (!(this.rule?.type in FRESH)) return [];
    try {
      return [this.part(this.rule, "#/rule", { whole: true, put: (next) => (this.rule = next) })];
    } catch (error) {
      if (error instanceof TypeError) return [];
      throw error;
    }
  }

  // One part of the rule, with everything inside it.
  part(part, pointer, { put, remove = null, whole = false, title = "" }) {
    const node = this.copy("head"), box = node.querySelector("[data-place=body]");
    const choose = box.querySelector("[data-do=choose]");
    if (!whole) choose.querySelectorAll("[data-whole]").forEach((option) => option.remove());
    box.querySelector("[data-place=title]").textContent = title || this.form.getAttribute("aria-label");
    box.dataset.pointer = pointer;
    choose.value = part.type;
    choose.addEventListener("change", () => {
      put(changed(part, choose.value));
      this.change({ redraw: true, focus: `[data-pointer="${pointer}"] [data-do=choose]` });
    });
    const button = box.querySelector("[data-do=remove]");
    button.hidden = !remove;
    button.addEventListener("click", () => remove());
    if (part.type in FRESH) box.append(this.copy(part.type));
    this.fill(box, part, pointer);
    return box;
  }

  fill(box, part, pointer) {
    box.querySelectorAll("[data-key]").forEach((control) => this.control(control, part, pointer));
    box.querySelectorAll("[data-slot]").forEach((slot) => this.slot(slot, part, pointer));
  }

  control(control, part, pointer) {
    const key = control.dataset.key;
    control.dataset.pointer = `${pointer}/${key}`;
    if (control.dataset.kind === "value") return this.value(control, part);
    control.value = part[key] ?? "";
    control.addEventListener("input", () => {
      const isEmpty = control.value === "" && ("optional" in control.dataset || control.dataset.kind === "number");
      if (isEmpty) delete part[key];
      else part[key] = control.dataset.kind === "number" ? Number(control.value) : control.value;
      this.change();
      if (key === "event_type") this.suggest();
    });
  }

  // What a field is compared with: of which kind, and then what.
  value(control, part) {
    const kind = control.closest(".ax-part-row").querySelector("[data-do=value-kind]");
    const label = control.closest("[data-place=value]");
    const dress = () => {
      label.hidden = ["true", "false", "null"].includes(kind.value);
      control.type = kind.value === "number" ? "number" : "text";
      if (kind.value === "number") control.step = "any";
      if (kind.value === "field") control.setAttribute("list", `${this.text.id}-fields`);
      else control.removeAttribute("list");
    };
    const read = () => {
      const made = { number: control.value === "" ? undefined : Number(control.value), text: control.value,
        true: true, false: false, null: null, field: { field: control.value } }[kind.value];
      if (made === undefined) delete part.threshold;
      else part.threshold = made;
      this.change();
    };
    kind.value = "threshold" in part ? kindOf(part.threshold) : "number";
    dress();
    control.value = (kind.value === "field" ? part.threshold.field : part.threshold) ?? "";
    kind.addEventListener("change", () => { dress(); read(); });
    control.addEventListener("input", read);
  }

  slot(slot, part, pointer) {
    const key = slot.dataset.slot, at = `${pointer}/${key}`, title = slot.dataset.title;
    if ("step" in slot.dataset) return slot.append(this.step((part[key] ??= { event_type: "" }), at, title));
    if (key === "conditions") return this.several(slot, part, at, title);
    const add = slot.nextElementSibling;
    if (part[key]) {
      const remove = "optional" in slot.dataset ? () => { delete part[key]; this.change({ redraw: true }); } : null;
      slot.append(this.part(part[key], at, { put: (next) => (part[key] = next), title, remove }));
    }
    if (add?.dataset.do !== "add-where") return;
    add.hidden = Boolean(part[key]);
    add.addEventListener("click", () => {
      part[key] = fresh("threshold");
      this.change({ redraw: true, focus: `[data-pointer="${at}/field"]` });
    });
  }

  several(slot, part, at, title) {
    const parts = (part.conditions = Array.isArray(part.conditions) ? part.conditions : []);
    parts.forEach((inner, number) => {
      const remove = () => { parts.splice(number, 1); this.change({ redraw: true }); };
      const put = (next) => (parts[number] = next);
      slot.append(this.part(inner, `${at}/${number}`, { put, remove, title: `${title} ${number + 1}` }));
    });
    slot.nextElementSibling.addEventListener("click", () => {
      parts.push(fresh("threshold"));
      this.change({ redraw: true, focus: `[data-pointer="${at}/${parts.length - 1}/field"]` });
    });
  }

  step(step, pointer, title) {
    const box = this.copy("step").firstElementChild;
    box.dataset.pointer = pointer;
    box.querySelector("[data-place=title]").textContent = title;
    this.fill(box, step, pointer);
    return box;
  }

  // The fields of the chosen event types, for whoever begins to write one.
  suggest() {
    const named = [this.rule?.first?.event_type, this.rule?.then?.event_type].filter(Boolean);
    const chosen = named.length ? named : this.types.chosen();
    const fields = this.known.filter((each) => chosen.includes(each.type)).flatMap((each) => each.fields);
    const options = [...new Set(fields), "@actor", "@aggregate_id"].map((field) => new Option(field, field));
    this.show("fields").replaceChildren(...options);
  }

  preview() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.ask(), PAUSE_MS);
  }

  async ask() {
    const mine = (this.asking = (this.asking ?? 0) + 1);
    try {
      const answer = await post(this.box.dataset.preview, this.asked());
      // An older answer that comes late must not overwrite a newer one.
      if (answer.ok && mine === this.asking) this.tell(await answer.json());
    } catch {
      // Nobody answers: saving will say what is wrong.
    }
  }

  tell({ sentences = {}, events = {}, errors = [] }) {
    const isTold = Object.keys(sentences).length > 0;
    for (const place of this.box.querySelectorAll("[data-words]"))
      place.textContent = sentences[place.dataset.words] ?? "";
    if (!isTold) this.box.querySelector("[data-words]").textContent = this.box.dataset.unfinished;
    const watched = this.show("watched"), names = Object.values(events);
    watched.textContent = names.length ? `${watched.dataset.label} ${names.join(", ")}` : "";
    this.mark(this.touched ? errors : []);
    this.box.dataset.state = errors.length ? "faulty" : "right";
  }

  // Each fault beside what it is about, and all of them in a list.
  mark(errors) {
    this.box.querySelectorAll("[aria-invalid]").forEach((control) => control.removeAttribute("aria-invalid"));
    const lines = errors.map(({ pointer, detail }) => {
      this.box.querySelector(`[data-key][data-pointer="${CSS.escape(pointer)}"]`)?.setAttribute("aria-invalid", "true");
      const line = document.createElement("li"), where = document.createElement("code");
      where.textContent = pointer;
      line.append(where, ` ${detail}`);
      return line;
    });
    this.show("errors").replaceChildren(...lines);
  }
}

class Types {
  // The event types as a list that one adds to; the text area behind it is what is sent.
  constructor(text, builder) {
    Object.assign(this, { text, builder, named: false });
    if (!text) return;
    const box = builder.copy("types").firstElementChild;
    text.before(box);
    text.hidden = true;
    this.box = box;
    const add = box.querySelector("[data-do=add-type]");
    add.setAttribute("aria-label", add.options[0].text);
    add.addEventListener("change", () => {
      this.put([...this.chosen(), add.value]);
      add.value = "";
    });
  }

  chosen() {
    return (this.text?.value ?? "").split(/[\s,]+/).filter(Boolean);
  }

  put(types) {
    this.text.value = [...new Set(types)].join("\n");
    this.draw(this.named);
    this.builder.suggest();
    this.builder.touched = true;
    this.builder.preview();
  }

  draw(named) {
    this.named = named;
    if (!this.box) return;
    const place = (name) => this.box.querySelector(`[data-place="${name}"]`);
    place("named").hidden = !named;
    place("adding").hidden = place("list").hidden = named;
    place("list").replaceChildren(...this.chosen().map((type) => this.chip(type)));
  }

  chip(type) {
    const chip = this.builder.copy("chip").firstElementChild, button = chip.querySelector("button");
    const name = this.builder.known?.find((each) => each.type === type)?.label;
    chip.querySelector("[data-place=name]").textContent = name ? `${name} (${type})` : type;
    button.setAttribute("aria-label", button.dataset.label.replace("{name}", name ?? type));
    button.addEventListener("click", () => {
      this.put(this.chosen().filter((each) => each !== type));
      this.box.querySelector("[data-do=add-type]").focus();
    });
    return chip;
  }
}

for (const box of document.querySelectorAll("[data-rule-builder]")) new Builder(box);
for (const box of document.querySelectorAll("[data-rule-shown]")) {
  const asked = JSON.parse(document.getElementById("asked-rule").textContent);
  new Trying(box, () => asked);
}
