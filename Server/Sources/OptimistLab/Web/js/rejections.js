// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText, uniqueID } from './dom.js';

/** The changes that the server refused. They can be edited and sent again, or discarded. */
export class RejectionsPanel {
  #api;
  #attempt;
  #count = el('span', { class: 'count' }, '0');
  #list = el('ul', { class: 'plain' });

  /** @param title The panel's heading. */
  constructor(api, attempt, title = 'Rejections') {
    this.#api = api;
    this.#attempt = attempt;
    this.element = el('section', { class: 'panel rejections', hidden: true, 'aria-label': title },
      el('div', { class: 'heading' }, el('h3', {}, title), this.#count), this.#list);
  }

  refresh = coalesced(async () => {
    const rejections = await this.#api.rejections().catch(() => null);
    if (!rejections) return;
    this.element.hidden = rejections.length === 0;
    setText(this.#count, String(rejections.length));
    keyed(this.#list, rejections, {
      key: (rejection) => rejection.number,
      make: (rejection) => this.#make(rejection),
      update: () => {},
    });
  });

  /** A rejection never changes, so it is drawn once, and typed text is kept. */
  #make(rejection) {
    const { number, kind, code, column, message, mine, server } = rejection;
    const field = column && column in mine ? column : 'content' in mine ? 'content' : null;
    const id = uniqueID('mine');
    const text = field && el('textarea', { id, rows: 2, value: String(mine[field]) });
    const edits = () => (text ? { [field]: typed(text.value, mine[field]) } : {});
    const retry = () => this.#attempt(() => this.#api.retry(number, edits()));
    const discard = () => this.#attempt(() => this.#api.discard(number));
    const held = server ? `The server has: ${field ? server[field] : 'a different row'}` : 'The server does not have this row.';
    return el('li', {},
      el('p', {}, el('code', {}, code), ` ${message}`),
      text && el('label', { htmlFor: id }, `Yours (${kind}, ${field})`),
      text,
      el('p', { class: 'faint' }, held),
      el('div', { class: 'buttons' },
        el('button', { type: 'button', class: 'primary', onclick: retry }, 'Send again'),
        el('button', { type: 'button', onclick: discard }, 'Discard')));
  }
}

/** Converts typed text to the type of the original value. */
function typed(text, original) {
  if (typeof original === 'number') return Number(text);
  return typeof original === 'boolean' ? text === 'true' : text;
}
