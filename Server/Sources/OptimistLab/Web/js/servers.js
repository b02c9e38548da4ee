// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { coalesced, el, inTurn, keyed, setText, uniqueID } from './dom.js';
import { milliseconds } from './format.js';

/** The replication modes and their effects. */
const following = {
  synchronous: ['Synchronous', 'A commit waits until the standby has it.'],
  asynchronous: ['Asynchronous', 'The standby is slightly behind.'],
  cutOff: ['Cut off', 'The standby receives nothing.'],
};

/** The server processes on one database, and their controls. Hidden if the lab has one server. */
export class ServersPanel {
  #attempt;
  #phones;
  #list = el('ul', { class: 'plain servers', 'aria-label': 'Server processes' });
  #choices = new Map();
  #database;
  #primary = el('p', { role: 'status' });
  #meaning = el('p', { class: 'faint' });
  #segments;
  #failOver = el('button', {
    type: 'button', onclick: () => this.#act('fail over', () => lab.failOver()),
  }, 'Kill the primary, promote the standby');
  #replace = el('button', {
    type: 'button', onclick: () => this.#act('replace', () => lab.replaceStandby()),
  }, 'Make another standby');
  #totals = el('p', { role: 'status' });
  #outcomes = el('tbody');
  #table = el('table', { class: 'outcomes' },
    el('caption', {}, 'Acknowledged to-dos at each failover, newest first'),
    el('thead', {}, el('tr', {}, ...['all', 'lost', 'healed', 'missing', 'took'].map(
      (name) => el('th', { scope: 'col' }, name)))),
    this.#outcomes);
  #waiting = new Set();
  #turn = inTurn();

  /** @param phones Returns the names of the phones. */
  constructor(attempt, phones) {
    this.#attempt = attempt;
    this.#phones = phones;
    const group = uniqueID('standby');
    this.#segments = el('div', { class: 'segments three' }, ...Object.entries(following).map(([name, [words]]) => {
      const radio = el('input', {
        type: 'radio', name: group, value: name, onchange: () => this.#act(name, () => lab.followAs(name)),
      });
      this.#choices.set(name, radio);
      return el('label', {}, radio, el('span', {}, words));
    }));
    this.#database = el('fieldset', {},
      el('legend', {}, 'Database'), this.#primary, this.#segments, this.#meaning,
      el('div', { class: 'buttons' }, this.#failOver, this.#replace));
    this.element = el('section', { class: 'panel', 'aria-label': 'Servers', hidden: true },
      el('div', { class: 'heading' }, el('h3', {}, 'Servers')),
      this.#list, this.#database,
      el('div', { class: 'buttons' }, el('button', {
        type: 'button', onclick: () => this.#act('write', () => this.#write(10)),
      }, 'Write 10 to-dos on each phone')),
      this.#totals, this.#table);
  }

  refresh = coalesced(async () => {
    const state = await lab.servers().catch(() => null);
    if (state) this.#show(state);
  });

  #show({ servers, database, acknowledged, pending, failovers }) {
    this.element.hidden = servers.length === 0;
    keyed(this.#list, servers, {
      key: (server) => server.number,
      make: (server) => el('li', {},
        el('span', {}),
        el('button', {
          type: 'button', class: 'quiet', onclick: (event) => {
            const isRunning = Boolean(event.target.dataset.running);
            this.#act(server.number, () => (isRunning ? lab.killServer(server.number) : lab.startServer(server.number)));
          },
        })),
      update: (element, { number, port, running, kills }) => {
        const [words, button] = element.children;
        const times = kills ? ` · killed ${kills}×` : '';
        setText(words, `Server ${number} · port ${port} · ${running ? 'serves' : 'is dead'}${times}`);
        setText(button, running ? `Kill server ${number}` : `Start server ${number}`);
        if (running) button.dataset.running = 'yes'; else delete button.dataset.running;
      },
    });
    this.#database.hidden = !database;
    if (database) this.#showDatabase(database);
    setText(this.#totals, `The phones have ${acknowledged} acknowledged to-dos, and ${pending} are on their way.`);
    this.#table.hidden = failovers.length === 0;
    keyed(this.#outcomes, failovers.map((outcome, index) => ({ ...outcome, number: failovers.length - index })), {
      key: (outcome) => outcome.number,
      make: () => el('tr', {}, ...Array.from({ length: 5 }, () => el('td'))),
      update: (row, outcome) => {
        const values = [outcome.acknowledged, outcome.lost, outcome.healed, outcome.missing];
        [...values.map(String), milliseconds(Math.round(outcome.promotedMs))].forEach(
          (value, index) => setText(row.children[index], value));
      },
    });
  }

  #showDatabase({ primary, following: mode }) {
    const other = primary === 'one' ? 'two' : 'one';
    setText(this.#primary, mode
      ? `Database ${primary} is the primary, and ${other} is its standby.`
      : `Database ${primary} is the primary. There is no standby.`);
    for (const [name, radio] of this.#choices) radio.checked = name === mode;
    setText(this.#meaning, mode ? following[mode][1] : 'The other database was killed.');
    this.#segments.hidden = !mode;
    this.#failOver.hidden = !mode;
    this.#replace.hidden = Boolean(mode);
  }

  /**
   * Runs actions one after the other, in the order of the clicks, because a failover and a new standby take a while.
   * Ignores a click if the same action is waiting or running.
   */
  async #act(wish, work) {
    if (this.#waiting.has(wish)) return;
    this.#waiting.add(wish);
    this.element.setAttribute('aria-busy', 'true');
    await this.#turn(() => this.#attempt(work)).finally(() => this.#waiting.delete(wish));
    if (this.#waiting.size === 0) this.element.removeAttribute('aria-busy');
    this.refresh();
  }

  #write(count) {
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    return Promise.all(this.#phones().map(async (name) => {
      for (const number of numbers) await lab.device(name).addTodo({ content: `${name} ${number}` });
    }));
  }
}
