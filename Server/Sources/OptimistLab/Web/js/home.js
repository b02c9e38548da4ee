// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, drawsInTurn, el, keyed, setText } from './dom.js';
import { times } from './format.js';

const titles = {
  banner: 'Today', plan: 'My day', news: 'News', notices: 'Notices', shortcuts: 'Shortcuts', chapel: 'Chapel',
};
/** The clock's jumps: five seconds before the chapel opens, and before it closes. */
const jumps = [['Almost 10:00', '09:59:55'], ['Almost 13:00', '12:59:55'], ['Right time', undefined]];

/** The first screen of a campus app: its sections, and how often each was drawn. */
export class HomeScreen {
  name = 'Home';
  oldWay = 'one answer redraws the entire screen three times';
  #api;
  #attempt;
  #device;
  #count = el('p', { class: 'faint', role: 'status' });
  #problem = el('p', { class: 'note', hidden: true });
  #sections = el('div', { class: 'sections' });
  #clock = el('time', { class: 'wall' });
  #ticks;
  #drawNext = drawsInTurn((home) => this.#draw(home));

  constructor(name, api, { attempt }) {
    this.#api = api;
    this.#attempt = attempt;
    this.element = el('div', { class: 'home-screen' },
      el('header', {}, el('h2', {}, 'Campus'), this.#clock,
        el('button', { type: 'button', onclick: () => this.#do(() => api.refreshHome()) }, 'Refresh')),
      el('div', { class: 'state' }, this.#count, this.#problem),
      el('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `First screen of phone ${name}` }, this.#sections),
      el('div', { class: 'jumps', role: 'group', 'aria-label': `Clock of phone ${name}` },
        ...jumps.map(([words, time]) => el('button', {
          type: 'button', onclick: () => this.#do(() => api.setClock(time)),
        }, words))));
    this.#clock.title = 'The local time at the chapel';
  }

  show(device) {
    this.#device = device;
    this.element.inert = !device.running;
  }

  refresh = coalesced(async () => {
    if (!this.#device?.running || this.element.hidden) return;
    await this.#drawNext(() => this.#api.home().catch(() => null));  // The phone may have crashed.
  });

  #do(work) { return this.#drawNext(() => this.#attempt(work)); }

  #draw({ home, parts, drawn, answers, clock, problem }) {
    setText(this.#count, `drawn ${times(drawn)} for ${answers} ${answers === 1 ? 'answer' : 'answers'}`);
    setText(this.#problem, problem ?? '');
    this.#problem.hidden = !problem;
    this.#tick(clock);
    keyed(this.#sections, parts.filter((part) => part.shown), {
      key: (part) => part.id,
      make: (part) => el('section', { 'data-part': part.id, 'aria-label': titles[part.id] },
        el('h3', {}, titles[part.id], el('small', { class: 'drawn' })),
        el('div', { class: 'inside' })),
      update: (element, part) => this.#drawPart(element, part, home),
    });
  }

  #drawPart(element, { id, drawn }, home) {
    const count = element.querySelector('.drawn');
    if (count.textContent && count.textContent !== `×${drawn}`) flash(element);
    setText(count, `×${drawn}`);
    count.title = `drawn ${times(drawn)}`;
    const inside = element.lastElementChild;
    const text = JSON.stringify(contents[id](home));
    if (inside.dataset.text === text) return;
    inside.dataset.text = text;
    inside.replaceChildren(...contents[id](home).map((line) => el('p', {}, line)));
  }

  /** Advances the clock between two answers. */
  #tick(text) {
    clearInterval(this.#ticks);
    const [hours, minutes, seconds] = text.split(':').map(Number);
    const start = performance.now();
    const show = () => {
      const at = new Date(Date.UTC(2000, 0, 1, hours, minutes, seconds) + performance.now() - start);
      setText(this.#clock, at.toISOString().slice(11, 19));
    };
    show();
    this.#ticks = setInterval(() => { if (!document.hidden) show(); }, 1000);
  }
}

const contents = {
  banner: ({ banner }) => (banner ? [banner.title, banner.detail] : []),
  plan: ({ left }) => [left === undefined ? '' : left === 0 ? 'Nothing left to do' : `${left} left to do`],
  news: ({ news }) => news.map((one) => one.title),
  notices: ({ notices }) => notices,
  shortcuts: ({ shortcuts }) => shortcuts.map(({ symbol, name }) => `${symbol} ${name}`),
  chapel: ({ chapel }) => (chapel ? [`${chapel.name}, open until ${chapel.closes}`] : []),
};

/** Highlights a section briefly after a redraw. */
function flash(element) {
  element.classList.remove('is-new');
  void element.offsetWidth;  // Restarts the animation.
  element.classList.add('is-new');
}
