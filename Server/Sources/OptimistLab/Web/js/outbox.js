// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText } from './dom.js';

/** A phone's pending changes: their rows and columns, never their values. */
export class OutboxPanel {
  #api;
  #isRunning = true;
  #count = el('span', { class: 'count' }, '0');
  #list = el('ul', { class: 'plain' });
  #empty = el('p', { class: 'faint' }, 'No pending changes.');

  constructor(api) {
    this.#api = api;
    this.element = el('details', { class: 'panel outbox', open: true },
      el('summary', {}, el('h3', {}, 'Outbox'), this.#count), this.#list, this.#empty);
  }

  setRunning(isRunning) { this.#isRunning = isRunning; }

  refresh = coalesced(async () => {
    if (!this.#isRunning) return;
    const entries = await this.#api.outbox().catch(() => null);
    if (!entries) return;
    setText(this.#count, String(entries.length));
    this.#empty.hidden = entries.length > 0;
    keyed(this.#list, entries, {
      key: (entry) => `${entry.table}/${entry.id}`,
      make: () => el('li', {},
        el('span', { class: 'kind' }),
        el('span', { class: 'what' }),
        el('span', { class: 'faint' })),
      update: (element, entry) => {
        const [kind, what, state] = element.children;
        setText(kind, entry.kind);
        setText(what, entry.columns.join(', ') || entry.table);
        what.title = `${entry.table} ${entry.id}`;
        setText(state, entry.sent ? 'sending' : 'waiting');
      },
    });
  });
}
