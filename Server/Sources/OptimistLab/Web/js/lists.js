// This source file is part of the Optimist open source project, under the MIT licence.

import { el, keyed, setOptions, setText, setValue, uniqueID } from './dom.js';
import { clockTime, milliseconds, statusLine, syncStates } from './format.js';
import { shelvesOf } from './shelves.js';
import { TodoRow } from './todo.js';

/** The lists of a device, by space. */
export class ListsScreen {
  name = 'Lists';
  #api;
  #attempt;
  #person;
  #shelves = [];
  #gone = [];
  #drawn = new WeakMap();
  #status = el('p', { class: 'status', role: 'status', 'aria-live': 'polite' });
  #lastSync = el('p', { class: 'faint last-sync' });
  #list = el('div', { class: 'shelves' });
  #answer = el('p', { class: 'faint answer', role: 'status', 'aria-live': 'polite' });
  #title = el('input', { type: 'text', autocomplete: 'off', placeholder: 'Add a list' });
  #place = el('select', { class: 'place', 'aria-label': 'Where the new list goes' });

  constructor({ person, title }, api, attempt) {
    this.#api = api;
    this.#attempt = attempt;
    this.#person = person;
    this.#title.id = uniqueID('list');
    const add = el('form', { class: 'add with-place', onsubmit: (event) => this.#add(event) },
      el('label', { class: 'unseen', htmlFor: this.#title.id }, `New list on ${title}`),
      this.#title, this.#place,
      el('button', { type: 'submit', 'aria-label': 'Add the list' }, '+'));
    this.element = el('div', { class: 'planner' },
      el('header', {}, el('h2', {}, 'Lists')),
      el('div', { class: 'state' }, this.#status, this.#lastSync),
      el('div', { class: 'scroll' }, this.#list),
      el('footer', {}, this.#answer, add));
  }

  show(device) {
    this.#status.dataset.phase = device.signedIn ? device.status.phase : 'paused';
    setText(this.#status, statusLine(device));
    setText(this.#lastSync, `last sync ${clockTime(device.status.lastSync)}`);
  }

  /** Draws all rows of one moment. */
  draw(shown) {
    const shelves = shelvesOf(shown, this.#person);
    this.#showGone(shelves);
    this.#shelves = shelves;
    keyed(this.#list, shelves, {
      key: ({ id }) => id,
      make: (shelf) => this.#remember(new Shelf(shelf, (work) => this.#write(work), this.#api)),
      update: (element, shelf) => this.#drawn.get(element).show(shelf, shelves),
    });
    setOptions(this.#place, shelves.filter(({ mayWrite }) => mayWrite).map(({ id, name }) => [id, name]));
  }

  /** Says which spaces have left the device, until one of them is back. */
  #showGone(shelves) {
    const isHere = ({ id }) => shelves.some((shelf) => shelf.id === id);
    const gone = this.#shelves.filter((shelf) => !isHere(shelf));
    if (gone.length === 0 && !this.#gone.some(isHere)) return;
    this.#gone = gone;
    setText(this.#answer, gone.map(({ name }) => `${name} has left this device.`).join(' '));
  }

  #remember(shelf) {
    this.#drawn.set(shelf.element, shelf);
    return shelf.element;
  }

  async #add(event) {
    event.preventDefault();
    const title = this.#title.value.trim();
    if (title && await this.#write(() => this.#api.addList(title, spaceOf(this.#place.value)))) this.#title.value = '';
  }

  async #write(work) {
    let problem = '';
    const answer = await this.#attempt(work, (message) => { problem = message; });
    this.#gone = [];
    setText(this.#answer, answer ? `saved on this device in ${milliseconds(answer.localMs)}` : `Not saved. ${problem}`);
    return Boolean(answer);
  }
}

/** A space, or the person's own rows, with its lists. */
class Shelf {
  #api;
  #write;
  #cards = new WeakMap();
  #name = el('h3');
  #role = el('span', { class: 'role' });
  #people = el('p', { class: 'faint' });
  #lists = el('div', { class: 'cards' });
  #empty = el('p', { class: 'faint' }, 'No list yet.');

  constructor({ name }, write, api) {
    this.#api = api;
    this.#write = write;
    this.element = el('section', { class: 'shelf', 'aria-label': name },
      el('div', { class: 'heading' }, this.#name, this.#role), this.#people, this.#lists, this.#empty);
  }

  show(shelf, shelves) {
    setText(this.#name, shelf.name);
    this.element.setAttribute('aria-label', shelf.name);
    setText(this.#role, shelf.role);
    this.#role.dataset.role = shelf.role;
    setText(this.#people, shelf.people);
    this.#empty.hidden = shelf.lists.length > 0;
    keyed(this.#lists, shelf.lists, {
      key: ({ id }) => id,
      make: (list) => {
        const card = new Card(list, this.#write, this.#api);
        this.#cards.set(card.element, card);
        return card.element;
      },
      update: (element, list) => this.#cards.get(element).show(list, shelf, shelves),
    });
  }
}

/** A list with its to-dos. A reader's controls are grey. */
class Card {
  #api;
  #id;
  #write;
  #rows = new WeakMap();
  #title = el('h4');
  #badge = el('span', { class: 'badge' });
  #place = el('select', { class: 'place', onchange: () => this.#move() });
  #items = el('ul', { class: 'todos' });
  #text = el('input', { type: 'text', autocomplete: 'off', placeholder: 'Add a to-do' });
  #add = el('button', { type: 'submit' }, '+');
  #controls;

  constructor({ id }, write, api) {
    this.#api = api;
    this.#id = id;
    this.#write = write;
    this.#controls = el('fieldset', { class: 'controls' },
      el('div', { class: 'heading' }, el('div', {}, this.#title, this.#badge), this.#place),
      this.#items,
      el('form', { class: 'add', onsubmit: (event) => this.#addItem(event) }, this.#text, this.#add));
    this.element = el('article', { class: 'card' }, this.#controls);
  }

  show(list, shelf, shelves) {
    setText(this.#title, list.title);
    this.element.dataset.sync = list.sync;
    setText(this.#badge, (syncStates[list.sync] ?? [list.sync])[0]);
    this.#place.setAttribute('aria-label', `Move ${list.title}`);
    this.#text.setAttribute('aria-label', `New to-do in ${list.title}`);
    this.#add.setAttribute('aria-label', `Add to ${list.title}`);
    this.#controls.disabled = !shelf.mayWrite;
    setOptions(this.#place, shelves.filter((other) => other.mayWrite || other.id === shelf.id)
      .map(({ id, name }) => [id, name]));
    setValue(this.#place, shelf.id);
    keyed(this.#items, list.items, {
      key: ({ id }) => id,
      make: (item) => {
        const row = new TodoRow(item, {
          change: (change) => this.#write(() => this.#api.changeItem(item.id, change)),
          remove: () => this.#write(() => this.#api.deleteItem(item.id)),
        });
        this.#rows.set(row.element, row);
        return row.element;
      },
      update: (element, item) => this.#rows.get(element).show(item),
    });
  }

  #move() { return this.#write(() => this.#api.moveList(this.#id, spaceOf(this.#place.value))); }

  async #addItem(event) {
    event.preventDefault();
    const content = this.#text.value.trim();
    if (!content) return;
    if (await this.#write(() => this.#api.addItem(this.#id, content)) && this.#text.value.trim() === content) {
      this.#text.value = '';
    }
  }
}

const spaceOf = (shelf) => (shelf === 'own' ? null : shelf);
