// This source file is part of the Optimist open source project, under the MIT licence.

import { el, setText, setValue } from './dom.js';
import { syncStates } from './format.js';

const priorities = [['0', '–', 'none'], ['1', '!', 'low'], ['2', '!!', 'medium'], ['3', '!!!', 'high']];

/** One to-do, which can be ticked, edited in place, prioritized and deleted. */
export class TodoRow {
  #todo;
  #before;  // The field's text before the edit. The to-do may change on another phone.
  #change;
  #done = el('input', { type: 'checkbox', onchange: () => this.#change({ done: this.#done.checked }) });
  #text = el('textarea', {
    rows: 1,
    spellcheck: false,
    'aria-label': 'Text',
    onfocus: () => { this.#before = this.#text.value; },
    onkeydown: (event) => this.#onKey(event),
    onblur: () => this.#commit(),
  });
  #priority = el('select', {
    class: 'priority',
    onchange: () => this.#change({ priority: Number(this.#priority.value) }),
  }, ...priorities.map(([value, mark, word]) => el('option', { value, 'aria-label': word }, mark)));
  #badge = el('span', { class: 'badge' });
  #delete = el('button', { type: 'button', class: 'delete' }, '×');

  constructor(todo, { change, remove }) {
    this.#change = change;
    this.#delete.addEventListener('click', remove);
    this.element = el('li', { class: 'todo' },
      this.#done,
      el('div', { class: 'words' }, this.#text, this.#badge),
      this.#priority,
      this.#delete);
    this.#todo = todo;
  }

  show(todo) {
    this.#todo = todo;
    const [word, sentence] = syncStates[todo.sync] ?? [todo.sync, todo.sync];
    this.element.dataset.sync = todo.sync;
    this.element.classList.toggle('is-done', todo.done);
    this.#done.checked = todo.done;
    setValue(this.#text, todo.content);
    setValue(this.#priority, todo.priority);
    this.#priority.dataset.level = todo.priority;
    setText(this.#badge, word);
    this.#badge.title = sentence;
    this.#done.setAttribute('aria-label', `Done: ${todo.content}`);
    this.#priority.setAttribute('aria-label', `Priority of ${todo.content}`);
    this.#delete.setAttribute('aria-label', `Delete ${todo.content}`);
    this.#text.setAttribute('aria-label', `Text, ${word}`);
  }

  #onKey(event) {
    if (event.isComposing) return;
    if (event.key === 'Enter') {
      event.preventDefault();
      this.#commit();
    } else if (event.key === 'Escape') {
      this.#showNewest();
    }
  }

  /** Saves typed text. An empty text is reset, because deletion has its own button. */
  #commit() {
    const content = this.#text.value.trim();
    if (!content || this.#text.value === this.#before) {
      this.#showNewest();
      return;
    }
    this.#before = this.#text.value;
    if (content !== this.#todo.content) this.#change({ content });
  }

  #showNewest() {
    this.#text.value = this.#todo.content;
    this.#before = this.#text.value;
  }
}
