// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText } from './dom.js';
import { partWords } from './format.js';

/** Short videos to swipe through. What the next ones need is fetched ahead, and one can watch it. */
export class ShortsScreen {
  name = 'Shorts';
  oldWay = 'what is being prefetched is asked for again';
  #api;
  #attempt;
  #device;
  #index = null;
  #count = 0;
  #moves = 0;
  #asked = 0;
  #isOurs = false;  // The list is being moved by the page, not by a hand.
  #list = el('ol', { class: 'shorts', tabIndex: 0 });
  #problem = el('p', { class: 'empty', role: 'status', hidden: true });
  #credit = el('p', { class: 'source faint' });
  #ahead = el('ol', { class: 'plain ahead', 'aria-label': 'Coming next' });
  #seen = new IntersectionObserver((entries) => this.#onSeen(entries), { root: this.#list, threshold: 0.6 });

  constructor(name, api, { attempt }) {
    this.#api = api;
    this.#attempt = attempt;
    this.#list.setAttribute('aria-label', `Short videos on phone ${name}`);
    this.#list.addEventListener('keydown', (event) => this.#onKey(event));
    this.element = el('div', { class: 'shorts-screen' },
      this.#list,
      this.#problem,
      this.#credit,
      el('div', { class: 'coming' }, this.#ahead,
        el('div', { class: 'steps-buttons' },
          el('button', { type: 'button', 'aria-label': 'Previous video', onclick: () => this.#go(this.#index - 1) }, '↑'),
          el('button', { type: 'button', 'aria-label': 'Next video', onclick: () => this.#go(this.#index + 1) }, '↓'))));
  }

  show(device) {
    this.#device = device;
    this.element.inert = !device.running;
  }

  refresh = coalesced(async () => {
    if (!this.#device?.running || this.element.hidden) return;
    const moves = this.#moves;
    const shorts = await this.#api.shorts().catch(() => null);  // The phone may have crashed meanwhile.
    // Where the phone stood before a hand moved on says nothing.
    if (shorts) this.#draw(shorts, moves === this.#moves && this.#asked === 0);
  });

  #draw({ items, index, problem, credit }, isNewest) {
    setText(this.#credit, credit ? `Places: ${credit}` : '');
    this.#problem.hidden = !problem;
    setText(this.#problem, problem ?? '');
    this.#count = items.length;
    keyed(this.#list, items, {
      key: (item) => item.id,
      make: (item) => this.#card(item, items.indexOf(item)),
      update: (element, item) => this.#update(element, item, items[index] === item),
    });
    keyed(this.#ahead, items.slice((index ?? -1) + 1, (index ?? -1) + 4), {
      key: (item) => item.id,
      make: (item) => el('li', {}, el('span', { class: 'what' }, item.title),
        el('span', { class: 'part' }), el('span', { class: 'part' })),
      update: (element, item) => {
        part(element.children[1], 'portrait', item.portrait);
        part(element.children[2], 'place', item.place);
      },
    });
    if (isNewest && index !== undefined && index !== null && index !== this.#index) this.#follow(index);
  }

  #card(item, index) {
    const card = el('li', { class: 'short', 'data-index': String(index) },
      el('div', { class: 'about' },
        el('span', { class: 'portrait' }),
        el('div', { class: 'words' },
          el('strong', {}, item.author), el('span', {}, item.title), el('span', { class: 'place' }))),
      el('p', { class: 'ways' }, el('span', { class: 'part' }), el('span', { class: 'part' })));
    card.style.setProperty('--hue', item.hue);
    this.#seen.observe(card);
    return card;
  }

  #update(card, { author, portrait, place }, isShown) {
    card.toggleAttribute('data-shown', isShown);
    if (isShown) card.setAttribute('aria-current', 'true');
    else card.removeAttribute('aria-current');
    const frame = card.querySelector('.portrait');
    const src = isShown && portrait.state === 'here' ? this.#api.picture(portrait.text) : null;
    if (src && !frame.firstElementChild) {
      frame.append(el('img', { src, alt: `Portrait of ${author}`, onerror: () => frame.replaceChildren() }));
    }
    setText(card.querySelector('.place'), isShown ? place.text ?? '…' : '');
    const [one, other] = card.querySelector('.ways').children;
    part(one, 'portrait', portrait);
    part(other, 'place', place);
  }

  /** The phone shows another one, as automation may have asked: the list moves there. */
  #follow(index) {
    this.#index = index;
    const card = this.#list.children[index];
    if (!card || this.#list.clientHeight === 0) return;
    this.#isOurs = true;
    this.#list.scrollTo({ top: card.offsetTop - this.#list.offsetTop, behavior: 'instant' });
    requestAnimationFrame(() => requestAnimationFrame(() => { this.#isOurs = false; }));
  }

  #onSeen(entries) {
    if (this.#isOurs || this.element.hidden) return;
    const seen = entries.filter((entry) => entry.isIntersecting).at(-1);
    if (seen) this.#go(Number(seen.target.dataset.index));
  }

  #onKey(event) {
    const next = { ArrowDown: 1, PageDown: 1, ArrowUp: -1, PageUp: -1 }[event.key];
    if (!next) return;
    event.preventDefault();
    this.#go(this.#index + next);
  }

  async #go(index) {
    if (index === this.#index || index < 0 || index >= this.#count) return;
    this.#follow(index);
    this.#moves += 1;
    this.#asked += 1;
    await this.#attempt(() => this.#api.showShort(index));
    this.#asked -= 1;
    this.refresh();
  }
}

/** What became of a thing that a video needs: `portrait: asked for · 2 requests`. One request is as it should be. */
function part(element, name, { state, way, requests }) {
  element.dataset.state = state;
  element.dataset.way = way ?? '';
  element.classList.toggle('is-double', requests > 1);
  const count = requests > 1 ? ` · ${requests} requests` : '';
  setText(element, `${name}: ${partWords(state, way)}${count}`);
}
