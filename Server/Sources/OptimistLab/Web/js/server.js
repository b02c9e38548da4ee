// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { el, keyed, setText } from './dom.js';

/** The server's rows for the phones' account. */
export class ServerPanel {
  #count = el('span', { class: 'count' }, '0');
  #list = el('ul', { class: 'plain rows', 'aria-label': 'Rows on the server' });
  #empty = el('p', { class: 'faint' }, 'No rows yet.');
  element = el('section', { class: 'panel server', 'aria-label': 'Server' },
    el('div', { class: 'heading' }, el('h3', {}, 'Server'), this.#count), this.#list, this.#empty);

  async refresh(account) {
    if (!account) return;
    const rows = (await lab.serverTodos(account)).sort((one, other) => other.seq - one.seq);
    setText(this.#count, String(rows.length));
    this.#empty.hidden = rows.length > 0;
    keyed(this.#list, rows, {
      key: (row) => row.id,
      make: () => el('li', {},
        el('span', { class: 'what' }),
        el('span', { class: 'faint' }),
        el('span', { class: 'faint seq' })),
      update: (element, row) => {
        const [text, date, seq] = element.children;
        setText(text, `${row.done ? '✓ ' : ''}${row.content}`);
        setText(date, row.date);
        setText(seq, `seq ${row.seq}`);
      },
    });
  }
}
