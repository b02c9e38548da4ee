// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { drawsInTurn, el, setText } from './dom.js';
import { networkNames } from './format.js';
import { ListsScreen } from './lists.js';
import { NetworkPanel } from './network.js';
import { OutboxPanel } from './outbox.js';
import { PeopleScreen } from './people-screen.js';
import { RejectionsPanel } from './rejections.js';
import { Tabs } from './tabs.js';

/** A device of a person who shares lists: its frame with two screens, and its controls below. */
export class SharingPhone {
  #api;
  #network;
  #outbox;
  #rejections;
  #screens;
  #signal = el('span', { class: 'signal' });
  /** Both screens show the same rows, so that they change together. */
  #draw = drawsInTurn((shown) => { for (const screen of this.#screens) screen.draw(shown); });

  constructor(device, attempt) {
    this.#api = lab.sharing.device(device.name);
    this.#network = new NetworkPanel(device.title, (change) => attempt(() => this.#api.setNetwork(change)));
    this.#outbox = new OutboxPanel(this.#api);
    this.#rejections = new RejectionsPanel(this.#api, attempt, 'Not sent');
    this.#screens = [ListsScreen, PeopleScreen].map((Screen) => new Screen(device, this.#api, attempt));
    const tabs = new Tabs(`Screens of ${device.title}`, this.#screens, () => {});
    this.element = el('section', { class: 'phone', 'aria-label': device.title },
      el('div', { class: 'frame' },
        el('div', { class: 'screen' },
          el('div', { class: 'bar' }, el('span', {}, device.title), this.#signal),
          ...this.#screens.map((screen) => screen.element),
          tabs.element)),
      this.#rejections.element,
      el('div', { class: 'panel' }, this.#network.element),
      this.#outbox.element);
    this.show(device);
    this.refresh();
  }

  /** Shows the lab's description of the device. */
  show(device) {
    setText(this.#signal, networkNames[device.network.profile] ?? device.network.profile);
    this.#signal.dataset.profile = device.network.profile;
    this.#network.show(device.network);
    for (const screen of this.#screens) screen.show(device);
  }

  /** Reloads the changed topics. Default: all of them. */
  refresh(what = ['todos', 'outbox', 'rejections']) {
    if (what.includes('todos')) this.#draw(() => this.#api.screen().catch(() => null));
    if (what.includes('outbox')) this.#outbox.refresh();
    if (what.includes('rejections')) this.#rejections.refresh();
  }
}
