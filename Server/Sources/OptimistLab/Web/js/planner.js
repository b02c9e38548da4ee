// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText, uniqueID } from './dom.js';
import { clockTime, milliseconds, statusLine, today } from './format.js';
import { TodoRow } from './todo.js';

/** The planner: the to-dos of one day. */
export class PlannerScreen {
  name = 'Planner';
  oldWay = 'server first, then the phone, then the screen';
  #api;
  #attempt;
  #wrote;
  #device;
  #todos = [];
  #rows = new WeakMap();
  #status = el('p', { class: 'status', role: 'status', 'aria-live': 'polite' });
  #lastSync = el('p', { class: 'faint last-sync' });
  #list = el('ul', { class: 'todos' });
  #empty = el('p', { class: 'empty', hidden: true }, 'Nothing planned for this day.');
  #answer = el('p', { class: 'faint answer', role: 'status', 'aria-live': 'polite' });
  #date = el('input', { type: 'date', value: today(), required: true, onchange: () => this.refresh() });
  #text = el('input', { type: 'text', autocomplete: 'off', placeholder: 'Add a to-do' });

  constructor(name, api, { attempt, wrote }) {
    this.#api = api;
    this.#attempt = attempt;
    this.#wrote = wrote;
    this.#date.setAttribute('aria-label', 'Day');
    this.#text.id = uniqueID('add');
    this.#list.setAttribute('aria-label', `To-dos on phone ${name}`);
    const add = el('form', { class: 'add', onsubmit: (event) => this.#add(event) },
      el('label', { class: 'unseen', htmlFor: this.#text.id }, `New to-do on phone ${name}`),
      this.#text,
      el('button', { type: 'submit', 'aria-label': 'Add' }, '+'));
    this.element = el('div', { class: 'planner' },
      el('header', {}, el('h2', {}, 'Planner'), this.#date),
      el('div', { class: 'state' }, this.#status, this.#lastSync),
      el('div', { class: 'scroll' }, this.#list, this.#empty),
      el('footer', {}, this.#answer, add));
  }

  show(device) {
    this.#device = device;
    this.element.inert = !device.running;
    this.#status.dataset.phase = device.signedIn ? device.status.phase : 'paused';
    setText(this.#status, statusLine(device));
    setText(this.#lastSync, `last sync ${clockTime(device.status.lastSync)}`);
  }

  refresh = coalesced(async () => {
    if (!this.#device?.running || !this.#date.value) return;
    const todos = await this.#api.todos(this.#date.value).catch(() => null);  // The phone may have crashed.
    if (todos) this.#showTodos(todos);
  });

  #showTodos(todos) {
    this.#todos = todos;
    for (const todo of todos) this.#wrote(todo.id, todo.content);
    keyed(this.#list, todos, {
      key: (todo) => todo.id,
      make: (todo) => {
        const row = new TodoRow(todo, {
          change: (change) => this.#write(() => this.#api.changeTodo(todo.id, change)),
          remove: () => this.#remove(todo.id),
        });
        this.#rows.set(row.element, row);
        return row.element;
      },
      update: (element, todo) => this.#rows.get(element).show(todo),
    });
    this.#empty.hidden = todos.length > 0;
  }

  async #add(event) {
    event.preventDefault();
    const content = this.#text.value.trim();
    if (!content || this.#text.readOnly) return;
    const isNew = await this.#write(() => this.#api.addTodo({ content, date: this.#date.value }));
    if (isNew && this.#text.value.trim() === content) this.#text.value = '';
  }

  /** Writes, and shows the answer and its duration. In the old way the duration includes the server. */
  async #write(work) {
    const slow = setTimeout(() => {
      this.#text.readOnly = true;
      this.element.setAttribute('aria-busy', 'true');
      setText(this.#answer, 'Waiting for the server …');
    }, 150);
    let problem = '';
    const answer = await this.#attempt(work, (message) => { problem = message; });
    clearTimeout(slow);
    this.#text.readOnly = false;
    this.element.removeAttribute('aria-busy');
    const verb = this.#device.oldWay ? 'took' : 'saved on this phone in';
    setText(this.#answer, answer ? `${verb} ${milliseconds(answer.localMs)}` : `Not saved. ${problem}`);
    if (answer?.todo?.date === this.#date.value) this.#showOne(answer.todo);
    this.refresh();
    return Boolean(answer);
  }

  #showOne(todo) {
    const isKnown = this.#todos.some((other) => other.id === todo.id);
    this.#showTodos(isKnown
      ? this.#todos.map((other) => (other.id === todo.id ? todo : other))
      : [...this.#todos, todo]);
  }

  async #remove(id) {
    const index = this.#todos.findIndex((todo) => todo.id === id);
    if (!await this.#write(() => this.#api.deleteTodo(id))) return;
    this.#showTodos(this.#todos.filter((todo) => todo.id !== id));
    const next = this.#list.children[Math.min(index, this.#list.children.length - 1)];
    (next?.querySelector('.delete') ?? this.#text).focus();
  }
}
