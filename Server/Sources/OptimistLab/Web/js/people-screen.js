// This source file is part of the Optimist open source project, under the MIT licence.

import { el, keyed, setOptions, setText, setValue, uniqueID } from './dom.js';
import { milliseconds } from './format.js';
import { shelvesOf } from './shelves.js';

const roles = [['owner', 'owner'], ['writer', 'writer'], ['reader', 'reader']];

/** The spaces of a device with their members and open links. */
export class PeopleScreen {
  name = 'People';
  #api;
  #attempt;
  #person;
  #drawn = new WeakMap();
  #list = el('div', { class: 'shelves' });
  #empty = el('p', { class: 'empty' }, 'No space yet. Make one, or open a link.');
  #answer = el('p', { class: 'faint answer', role: 'status', 'aria-live': 'polite' });

  constructor({ person, title }, api, attempt) {
    this.#api = api;
    this.#attempt = attempt;
    this.#person = person;
    this.element = el('div', { class: 'planner people' },
      el('header', {}, el('h2', {}, 'People')),
      el('div', { class: 'scroll' }, this.#list, this.#empty),
      el('footer', {},
        this.#answer,
        this.#form(`New space on ${title}`, 'Add a space', '+', 'Add the space', (name) => api.createSpace(name)),
        this.#form(`Link on ${title}`, 'Paste a link', 'Join', 'Join', (code) => api.accept(code))));
  }

  #form(label, placeholder, word, action, send) {
    const text = el('input', { type: 'text', autocomplete: 'off', placeholder, id: uniqueID('field') });
    const submit = async (event) => {
      event.preventDefault();
      if (text.value.trim() && await this.#write(() => send(text.value.trim()))) text.value = '';
    };
    return el('form', { class: 'add', onsubmit: submit },
      el('label', { class: 'unseen', htmlFor: text.id }, label), text,
      el('button', { type: 'submit', class: word === '+' ? undefined : 'wide', 'aria-label': action }, word));
  }

  show() {}

  /** Draws all rows of one moment. */
  draw(shown) {
    const spaces = shelvesOf(shown, this.#person).filter(({ id }) => id !== 'own');
    this.#empty.hidden = spaces.length > 0;
    keyed(this.#list, spaces, {
      key: ({ id }) => id,
      make: (space) => {
        const group = new Group(space, (work) => this.#write(work), this.#api);
        this.#drawn.set(group.element, group);
        return group.element;
      },
      update: (element, space) => this.#drawn.get(element).show(space),
    });
  }

  async #write(work) {
    let problem = '';
    const answer = await this.#attempt(work, (message) => { problem = message; });
    const saved = answer?.localMs === undefined ? '' : `saved on this device in ${milliseconds(answer.localMs)}`;
    setText(this.#answer, answer ? saved : `Not saved. ${problem}`);
    return Boolean(answer);
  }
}

/** The members and links of one space. Only owners can change them. */
class Group {
  #api;
  #id;
  #write;
  #members = new WeakMap();
  #name = el('h3');
  #role = el('span', { class: 'role' });
  #list = el('ul', { class: 'plain members' });
  #links = el('ul', { class: 'plain links' });
  #as = el('select', { class: 'place', 'aria-label': 'Role of the invited person' });
  #invite;
  #leave = el('button', { type: 'button', onclick: () => this.#write(() => this.#api.leave(this.#id)) }, 'Leave');

  constructor({ id, name }, write, api) {
    this.#api = api;
    this.#id = id;
    this.#write = write;
    setOptions(this.#as, [['writer', 'to write'], ['reader', 'to read']]);
    this.#invite = el('div', { class: 'invite' },
      el('button', {
        type: 'button', class: 'primary', onclick: () => write(() => api.invite(id, this.#as.value)),
      }, 'Make a link'),
      this.#as);
    this.element = el('section', { class: 'shelf', 'aria-label': `People of ${name}` },
      el('div', { class: 'heading' }, this.#name, this.#role),
      this.#list, this.#links, el('div', { class: 'buttons' }, this.#invite, this.#leave));
  }

  show(space) {
    setText(this.#name, space.name);
    this.element.setAttribute('aria-label', `People of ${space.name}`);
    setText(this.#role, space.role);
    this.#role.dataset.role = space.role;
    const isOwner = space.role === 'owner';
    this.#invite.hidden = !isOwner;
    // If the last member leaves, the space ends.
    this.#leave.hidden = isOwner && space.members.length > 1;
    setText(this.#leave, isOwner ? 'Delete the space' : 'Leave');
    keyed(this.#list, space.members, {
      key: ({ id }) => id,
      make: (member) => {
        const row = new MemberRow(member, this.#write, this.#api);
        this.#members.set(row.element, row);
        return row.element;
      },
      update: (element, member) => this.#members.get(element).show(member, isOwner),
    });
    keyed(this.#links, space.links, {
      key: ({ id }) => id,
      make: (link) => this.#makeLink(link),
      update: (element, link) => {
        setText(element.lastElementChild, link.sync === 'synced'
          ? `For one person, as ${link.role}.`
          : `For one person, as ${link.role}. It works when it is synced.`);
      },
    });
  }

  #makeLink({ code }) {
    const field = el('input', {
      type: 'text', readOnly: true, value: code, 'aria-label': 'Link', onfocus: () => field.select(),
    });
    const copy = () => {
      field.select();
      navigator.clipboard?.writeText(code).catch(() => {});
    };
    return el('li', {}, field, el('button', { type: 'button', onclick: copy }, 'Copy'), el('p', { class: 'faint' }));
  }
}

/** A member: name, role, and for owners the controls to change them. */
class MemberRow {
  #name = el('span', { class: 'what' });
  #role = el('span', { class: 'faint' });
  #choice;
  #remove;

  constructor({ id }, write, api) {
    this.#choice = el('select', { class: 'place', onchange: () => write(() => api.setRole(id, this.#choice.value)) });
    setOptions(this.#choice, roles);
    this.#remove = el('button', { type: 'button', class: 'delete', onclick: () => write(() => api.removeMember(id)) }, '×');
    this.element = el('li', {}, this.#name, this.#role, this.#choice, this.#remove);
  }

  show(member, isOwner) {
    const mayChange = isOwner && !member.isMe;
    setText(this.#name, `${member.name ?? 'Someone'}${member.isMe ? ' (you)' : ''}`);
    setText(this.#role, member.role ?? 'joining');
    this.#role.hidden = mayChange;
    this.#choice.hidden = !mayChange;
    this.#remove.hidden = !mayChange;
    setValue(this.#choice, member.role);
    this.#choice.setAttribute('aria-label', `Role of ${member.name}`);
    this.#remove.setAttribute('aria-label', `Remove ${member.name}`);
  }
}
