// Follows a person's live stream: connects, resumes where this tab was, and says how it stands.
//
//   const live = new LiveStream({ url: "/api/v1/notifications/stream" });
//   live.addEventListener("notification", (event) => show(event.detail));   // { number, title, ... }
//   live.addEventListener("state", (event) => mark(event.detail));          // see STATES
//   live.start();
//
// A page of ours needs nothing more: the session's cookie speaks for it. Elsewhere give `ticket`,
// a function that fetches a single-use ticket (POST /api/v1/notifications/tickets/).

export const STATES = ["connecting", "live", "reconnecting", "degraded", "replaced", "ended"];

const FIRST_PAUSE = 1_000, LONGEST_PAUSE = 60_000;
// A stream says something every 20 s. One that is silent for longer is dead, whatever it claims.
const LONGEST_SILENCE = 50_000;
const SPOKEN = ["notification", "chat", "ping", "degraded", "resync", "bye"];
const FINAL = { evicted: "replaced", revoked: "ended" };

export class LiveStream extends EventTarget {
  #source = null;
  #failures = 0;
  #timers = {};

  constructor({ url, ticket = null, may = null, member = "", also = [], storage = sessionStorage }) {
    super();
    Object.assign(this, { url, ticket, may, storage, state: "", spoken: [...SPOKEN, ...also] });
    // Of a tab: two tabs of one person are not equally far. Of a member: each inbox counts for itself.
    this.key = `axiom:live:${member}`;
  }

  start() {
    addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
    return this.#connect();
  }

  stop(state = "ended") {
    removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#hangUp();
    this.#stand(state);
  }

  get place() {
    return this.storage.getItem(this.key) ?? "";
  }

  async #connect() {
    this.#stand(this.#failures ? "reconnecting" : "connecting");
    let address;
    try {
      address = await this.#address();
    } catch {
      return this.#comeBack();
    }
    this.#hangUp();
    this.#source = new EventSource(address);
    this.#source.onopen = () => this.#opened();
    // The browser's own way of reconnecting knows neither back-off nor an answer of 503.
    this.#source.onerror = () => this.#failed();
    for (const name of this.spoken) this.#source.addEventListener(name, (event) => this.#hear(name, event));
    this.#listenForSilence();
  }

  async #address() {
    const address = new URL(this.url, location.href);
    if (this.place) address.searchParams.set("after", this.place);
    if (this.ticket) address.searchParams.set("ticket", await this.ticket());
    return address;
  }

  #opened() {
    this.#failures = 0;
    this.#stand("live");
  }

  #hear(name, event) {
    this.#listenForSilence();
    const data = JSON.parse(event.data || "{}");
    if (name === "bye") return FINAL[data.reason] && this.stop(FINAL[data.reason]);
    if (name === "degraded") this.#stand("degraded");
    if (name === "resync") this.#stand("live");
    if (name === "notification") this.storage.setItem(this.key, event.lastEventId);
    const detail = name === "notification" ? { number: Number(event.lastEventId), ...data } : data;
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  async #failed() {
    const refused = this.#source?.readyState === EventSource.CLOSED;
    this.#hangUp();
    // Why it was refused is not told to scripts: `may` asks a door that answers plainly.
    if (refused && this.may && (await this.may()) === false) return this.stop("ended");
    this.#comeBack();
  }

  #comeBack() {
    this.#hangUp();
    this.#failures += 1;
    this.#stand("reconnecting");
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (this.#failures - 1));
    // Anywhere in the upper half: a server that comes back is not met by everybody at once.
    this.#later("connect", () => this.#connect(), longest * (0.5 + Math.random() / 2));
  }

  // The network is back, or somebody looks: what waits for its time need not wait any more.
  #hurry = () => {
    if (this.state !== "reconnecting" || document.hidden) return;
    this.#later("connect", () => this.#connect(), Math.random() * 300);
  };

  #listenForSilence() {
    this.#later("silence", () => this.#comeBack(), LONGEST_SILENCE);
  }

  #later(name, act, pause) {
    clearTimeout(this.#timers[name]);
    this.#timers[name] = setTimeout(act, pause);
  }

  #hangUp() {
    Object.values(this.#timers).forEach(clearTimeout);
    this.#source?.close();
    this.#source = null;
  }

  #stand(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}
