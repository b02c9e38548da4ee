// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText } from './dom.js';
import { partWords } from './format.js';

/** Short videos to swipe through, with the progress of their prefetches. */
export class ShortsScreen {
  name = 'Shorts';
  oldWay = 'values that are being prefetched are requested again';
  #api;
  #attempt;
  #device;
  #index;  // Undefined until a video is shown.
  #moves = 0;
  #told = 0;  // The number of moves that the phone has received.
  #list = el('ol', { class: 'shorts', tabIndex: 0 });
  #problem = el('p', { class: 'empty', role: 'status', hidden: true });
  #credit = el('p', { class: 'source faint' });
  #ahead = el('ol', { class: 'plain ahead', 'aria-label': 'Coming next' });

  constructor(name, api, { attempt }) {
    this.#api = api;
    this.#attempt = attempt;
    this.#list.setAttribute('aria-label', `Short videos on phone ${name}`);
    this.#list.addEventListener('keydown', (event) => this.#onKey(event));
    this.#list.addEventListener('scroll', () => this.#choose(this.#position));
    this.element = el('div', { class: 'shorts-screen' },
      this.#list,
      this.#problem,
      this.#credit,
      el('div', { class: 'coming' }, this.#ahead,
        el('div', { class: 'steps-buttons' },
          el('button', { type: 'button', 'aria-label': 'Previous video', onclick: () => this.#scrollTo(this.#position - 1) }, '↑'),
          el('button', { type: 'button', 'aria-label': 'Next video', onclick: () => this.#scrollTo(this.#position + 1) }, '↓'))));
  }

  show(device) {
    this.#device = device;
    this.element.inert = !device.running;
  }

  refresh = coalesced(async () => {
    if (!this.#device?.running || this.element.hidden) return;
    const told = this.#told;
    const shorts = await this.#api.shorts().catch(() => null);  // The phone may have crashed.
    // The answer is outdated if the user has moved on.
    if (shorts) this.#draw(shorts, told === this.#moves);
  });

  #draw({ items, index, problem, credit }, isNewest) {
    setText(this.#credit, credit ? `Places: ${credit}` : '');
    this.#problem.hidden = !problem;
    setText(this.#problem, problem ?? '');
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
    if (isNewest && index !== this.#index) this.#follow(index);
  }

  #card(item, index) {
    const card = el('li', { class: 'short', 'data-index': String(index) },
      el('div', { class: 'about' },
        el('span', { class: 'portrait' }),
        el('div', { class: 'words' },
          el('strong', {}, item.author), el('span', {}, item.title), el('span', { class: 'place' }))),
      el('p', { class: 'ways' }, el('span', { class: 'part' }), el('span', { class: 'part' })));
    card.style.setProperty('--hue', item.hue);
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

  /** The video that fills most of the list. */
  get #position() {
    return Math.round(this.#list.scrollTop / this.#list.scrollHeight * this.#list.children.length);
  }

  /** Scrolls to the phone's video, which automation may have changed. */
  #follow(index) {
    if (this.#list.clientHeight === 0) return;
    this.#index = index;
    this.#scrollTo(index);
  }

  #scrollTo(index) {
    const card = this.#list.children[index];
    if (card) this.#list.scrollTo({ top: card.offsetTop - this.#list.offsetTop, behavior: 'instant' });
  }

  #onKey(event) {
    const next = { ArrowDown: 1, PageDown: 1, ArrowUp: -1, PageUp: -1 }[event.key];
    if (!next) return;
    event.preventDefault();
    this.#scrollTo(this.#position + next);
  }

  /** Handles a move to another video by the user. */
  #choose(index) {
    if (index === this.#index || !this.#list.children[index]) return;
    this.#index = index;
    this.#moves += 1;
    this.#tell();
  }

  /** Notifies the phone serially, because requests may overtake each other. Skips videos in between. */
  #tell = coalesced(async () => {
    const moves = this.#moves;
    await this.#attempt(() => this.#api.showShort(this.#index));
    this.#told = moves;
    this.refresh();
  });
}

/** Shows the state of a value: `portrait: requested · 2 requests`. More than one request is a waste. */
function part(element, name, { state, way, requests }) {
  element.dataset.state = state;
  element.dataset.way = way ?? '';
  element.classList.toggle('is-double', requests > 1);
  const count = requests > 1 ? ` · ${requests} requests` : '';
  setText(element, `${name}: ${partWords(state, way)}${count}`);
}
