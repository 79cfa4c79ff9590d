// Renditions is the list of qualities in the form in which media-chrome looks for it on a media
// element, as proposed for video.videoRenditions.
export class Renditions extends EventTarget {
  onchoose = () => {};
  #all = [];
  #selected = -1; // by the bandwidth

  // set replaces the list. What was chosen stays chosen if the new list has it.
  set(all) {
    const chosen = this.selected;
    this.#all.forEach((_, i) => delete this[i]);
    this.#all = all;
    all.forEach((one, i) => { this[i] = one; });
    this.#selected = chosen ? all.findIndex((one) => one.height === chosen.height) : -1;
    this.dispatchEvent(new Event(all.length > 0 ? "addrendition" : "removerendition"));
    this.dispatchEvent(new Event("change"));
  }

  // selected is what somebody chose; undefined: the bandwidth decides.
  get selected() { return this.#all[this.#selected]; }

  get length() { return this.#all.length; }
  get selectedIndex() { return this.#selected; }

  set selectedIndex(index) {
    this.#selected = index;
    this.onchoose(this.#all[index]?.level ?? -1);
    this.dispatchEvent(new Event("change"));
  }

  [Symbol.iterator]() { return this.#all[Symbol.iterator](); }
}
