// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText } from './dom.js';
import { span } from './format.js';

/**
 * The account of one phone: its devices, and buttons to change the password and delete it.
 *
 * It loads only when it is opened and after its own actions, because each load makes the phone send a request.
 */
export class AccountFold {
  #api;
  #attempt;
  #count = el('span', { class: 'count' }, '–');
  #list = el('ul', { class: 'plain account-devices' });
  #failure = el('p', { class: 'note', hidden: true });
  #remove = el('button', { type: 'button', class: 'danger', onclick: () => this.#delete(), onblur: () => this.#ask(false) });

  #isSignedIn;

  constructor(name, api, attempt, isSignedIn) {
    this.#api = api;
    this.#attempt = attempt;
    this.#isSignedIn = isSignedIn;
    this.#ask(false);
    this.element = el('details', { class: 'account', ontoggle: () => this.refresh() },
      el('summary', {}, el('h3', {}, 'Account'), this.#count),
      this.#list,
      this.#failure,
      el('div', { class: 'buttons', role: 'group', 'aria-label': `The account of phone ${name}` },
        el('button', {
          type: 'button', title: 'The lab chooses a new one. The other phones are signed out.',
          onclick: () => this.#attempt(() => api.changePassword()).then(() => this.refresh()),
        }, 'Change password'),
        this.#remove));
  }

  refresh = coalesced(async () => {
    if (!this.element.open) return;
    if (!this.#isSignedIn()) {
      this.#show([]);
      return;
    }
    try {
      this.#show(await this.#api.accountDevices());
    } catch (error) {
      this.#show([]);
      setText(this.#failure, error.message);
      this.#failure.hidden = false;
    }
  });

  #show(devices) {
    this.#failure.hidden = true;
    setText(this.#count, devices.length ? String(devices.length) : '–');
    keyed(this.#list, devices, {
      key: ({ id }) => id,
      make: (device) => this.#make(device),
      update: (row, device) => setText(row.querySelector('.faint'), used(device)),
    });
  }

  #make(device) {
    const end = () => this.#attempt(async () => this.#show(await this.#api.endSession(device.id)));
    return el('li', {},
      el('span', { class: 'what' }, device.device || 'Unnamed device', ' ', el('span', { class: 'faint' })),
      device.isCurrent ? null
        : el('button', { type: 'button', 'aria-label': `End the session of ${device.device}`, onclick: end }, 'End'));
  }

  /** Deletion requires two presses of the button. */
  #ask(isAsking) {
    this.#remove.dataset.asking = String(isAsking);
    setText(this.#remove, isAsking ? 'Really delete it' : 'Delete account');
  }

  async #delete() {
    if (this.#remove.dataset.asking !== 'true') return this.#ask(true);
    this.#ask(false);
    return this.#attempt(async () => {
      await this.#api.deleteAccount();
      this.#show([]);
    });
  }
}

function used({ isCurrent, lastUsedAt }) {
  const age = Math.max(0, Date.now() - new Date(lastUsedAt));
  return `${isCurrent ? 'this phone' : 'another device'}, ${age < 2000 ? 'just now' : `${span(age)} ago`}`;
}
