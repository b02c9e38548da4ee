// This source file is part of the Optimist open source project, under the MIT licence.

import { el } from './dom.js';

/** The tab bar of a phone. Arrow keys move along it. */
export class Tabs {
  #tabs;
  #changed;
  #chosen = 0;

  /**
   * @param screens Objects with a `name` and an `element`.
   * @param changed Called with the newly shown screen.
   */
  constructor(label, screens, changed) {
    this.#changed = changed;
    this.#tabs = screens.map((screen, index) => {
      const id = `${label}-${screen.name}`.replaceAll(' ', '-');
      screen.element.id = `${id}-panel`;
      screen.element.setAttribute('role', 'tabpanel');
      screen.element.setAttribute('aria-labelledby', id);
      const tab = el('button', {
        type: 'button', id, role: 'tab', 'aria-controls': screen.element.id, onclick: () => this.choose(index),
      }, screen.name);
      return { screen, tab };
    });
    this.element = el('div', {
      class: 'tabs', role: 'tablist', 'aria-label': label, onkeydown: (event) => this.#move(event),
    }, ...this.#tabs.map(({ tab }) => tab));
    this.#show();
  }

  get shown() { return this.#tabs[this.#chosen].screen; }

  choose(index) {
    if (index === this.#chosen) return;
    this.#chosen = index;
    this.#show();
    this.#changed(this.shown);
  }

  #show() {
    this.#tabs.forEach(({ screen, tab }, index) => {
      const isChosen = index === this.#chosen;
      screen.element.hidden = !isChosen;
      tab.setAttribute('aria-selected', String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    });
  }

  #move(event) {
    const last = this.#tabs.length - 1;
    const next = {
      ArrowRight: this.#chosen === last ? 0 : this.#chosen + 1,
      ArrowLeft: this.#chosen === 0 ? last : this.#chosen - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.choose(next);
    this.#tabs[next].tab.focus();
  }
}
