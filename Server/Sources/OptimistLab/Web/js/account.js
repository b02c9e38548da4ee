// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText } from './dom.js';
import { span } from './format.js';

const providers = { apple: 'Apple', google: 'Google' };
const nothing = { hasPassword: false, identities: [] };

/**
 * The account of one phone: its devices, the ways to sign in, and buttons to change the password and delete it.
 *
 * It loads only when it is opened and after its own actions, because each load makes the phone send a request.
 */
export class AccountFold {
  #api;
  #attempt;
  #count = el('span', { class: 'count' }, '–');
  #list = el('ul', { class: 'plain account-devices' });
  #failure = el('p', { class: 'note', hidden: true });
  #ways = el('ul', { class: 'plain account-devices', 'aria-label': 'Ways to sign in' });
  #more;
  #password;
  #remove = el('button', { type: 'button', class: 'danger', onclick: () => this.#delete(), onblur: () => this.#ask(false) });

  #isSignedIn;

  constructor(name, api, attempt, isSignedIn) {
    this.#api = api;
    this.#attempt = attempt;
    this.#isSignedIn = isSignedIn;
    this.#ask(false);
    this.#password = el('button', {
      type: 'button', title: 'The lab chooses a new one. The other phones are signed out.',
      onclick: () => this.#attempt(() => api.changePassword()).then(() => this.refresh()),
    }, 'Change password');
    this.#more = Object.keys(providers).map((provider) => el('button', {
      type: 'button', hidden: true, onclick: () => this.#change(() => api.addIdentity(provider)),
    }, `Add ${providers[provider]} (simulated)`));
    this.element = el('details', { class: 'account', ontoggle: () => this.refresh() },
      el('summary', {}, el('h3', {}, 'Account'), this.#count),
      this.#list,
      this.#ways,
      this.#failure,
      el('div', { class: 'buttons', role: 'group', 'aria-label': `The account of phone ${name}` },
        this.#password,
        this.#remove, ...this.#more));
  }

  refresh = coalesced(async () => {
    if (!this.element.open) return;
    if (!this.#isSignedIn()) {
      this.#show([]);
      this.#showWays(nothing);
      return;
    }
    try {
      this.#show(await this.#api.accountDevices());
      this.#showWays(await this.#api.identities());
    } catch (error) {
      this.#show([]);
      this.#showWays(nothing);
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

  #showWays({ hasPassword, identities }) {
    const ways = identities.map(({ id, provider }) => ({ id, name: providers[provider] ?? provider }));
    keyed(this.#ways, hasPassword ? [{ id: '', name: 'Password' }, ...ways] : ways, {
      key: ({ id }) => id,
      make: ({ id, name }) => el('li', {},
        el('span', { class: 'what' }, name),
        id ? el('button', {
          type: 'button', 'aria-label': `Remove ${name}`, onclick: () => this.#change(() => this.#api.removeIdentity(id)),
        }, 'Remove') : null),
      update: () => {},
    });
    this.#password.hidden = !hasPassword && identities.length > 0;
    for (const [index, provider] of Object.keys(providers).entries()) {
      this.#more[index].hidden = !(hasPassword || identities.length) || identities.some((one) => one.provider === provider);
    }
  }

  #change(work) { return this.#attempt(async () => this.#showWays(await work())); }

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
      this.#showWays(nothing);
    });
  }
}

function used({ isCurrent, lastUsedAt }) {
  const age = Math.max(0, Date.now() - new Date(lastUsedAt));
  return `${isCurrent ? 'this phone' : 'another device'}, ${age < 2000 ? 'just now' : `${span(age)} ago`}`;
}
