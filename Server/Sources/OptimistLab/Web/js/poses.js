// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, drawsInTurn, el, keyed, setText, soon } from './dom.js';
import { times } from './format.js';

const names = { chosen: 'Chosen', recommended: 'Recommended' };
const ends = { loading: 'Loading …', more: '', ended: 'No more poses.', failed: 'The next page did not load.' };
const groups = [
  ['people', (count) => (count === 1 ? '1 person' : `${count} people`)],
  ['frames', (count) => (count === 1 ? '1 frame' : `${count} frames`)],
  ['tags', (tag) => tag],
];
const memberOf = { people: 'people', frames: 'frames', tags: 'tag' };

/** Poses to scroll through. Each picture appears as soon as it has loaded. */
export class PosesScreen {
  name = 'Poses';
  oldWay = 'one queue for all pictures, which appear after the eighth';
  #api;
  #attempt;
  #device;
  /** The phone's filter, or the user's choice until the phone has received it. */
  #filter = {};
  #isChosen = false;
  #visible = new Set();
  #chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'Filter' });
  #count = el('span', { class: 'faint' });
  #list = el('div', { class: 'feed', tabIndex: 0 });
  #seen = new IntersectionObserver((entries) => this.#onSeen(entries), { root: this.#list });
  #drawNext = drawsInTurn((feed) => this.#draw(feed));
  #tell = soon(60, coalesced(() => this.#tellVisible()));

  constructor(name, api, { attempt }) {
    this.#api = api;
    this.#attempt = attempt;
    this.#list.setAttribute('role', 'region');
    this.#list.setAttribute('aria-label', `Poses on phone ${name}`);
    this.element = el('div', { class: 'poses-screen' },
      el('header', {}, el('h2', {}, 'Poses'), this.#count,
        el('button', { type: 'button', onclick: () => this.#do(() => api.refreshFeed()) }, 'Refresh')),
      this.#chips,
      this.#list);
  }

  show(device) {
    this.#device = device;
    this.element.inert = !device.running;
  }

  refresh = coalesced(async () => {
    if (!this.#device?.running || this.element.hidden) return;
    // The phone may have crashed.
    await this.#drawNext(() => this.#api.feed().catch(() => null));
  });

  #do(work) { return this.#drawNext(() => this.#attempt(work)); }

  #draw({ sections, choices, filter, drawn }) {
    if (!this.#isChosen) this.#filter = filter;
    setText(this.#count, `drawn ${times(drawn)}`);
    this.#drawChips(choices);
    keyed(this.#list, sections, {
      key: (section) => section.id,
      make: (section) => el('section', {},
        el('h3', {}, names[section.id] ?? section.id, el('small', { class: 'faint' })),
        el('ul', { class: 'plain poses' }),
        el('p', { class: 'end faint' }, el('span'), el('button', {
          type: 'button', hidden: true, onclick: () => this.#do(() => this.#api.retryPose(null)),
        }, 'Try again'))),
      update: (element, section) => this.#drawSection(element, section),
    });
  }

  #drawSection(element, { state, stale, items }) {
    const [title, list, end] = element.children;
    setText(title.lastElementChild, stale ? 'outdated' : '');
    keyed(list, items, {
      key: ({ pose }) => pose.id,
      make: ({ pose }) => this.#card(pose),
      update: (card, item) => this.#update(card, item),
    });
    setText(end.firstElementChild, items.length === 0 && state === 'ended' ? 'No matching poses.' : ends[state]);
    end.lastElementChild.hidden = state !== 'failed';
  }

  #card(pose) {
    const words = [pose.people && (pose.people === 1 ? '1 person' : `${pose.people} people`), pose.frames > 1 && `${pose.frames} frames`, ...pose.tags]
      .filter(Boolean).join(', ');
    const card = el('li', { class: 'pose', 'data-id': pose.id, title: words });
    card.style.aspectRatio = `${pose.width} / ${pose.height}`;
    card.classList.toggle('is-wide', pose.width > pose.height);
    this.#seen.observe(card);
    return card;
  }

  #update(card, { pose, phase, picture }) {
    const now = `${phase}/${picture}`;
    if (card.dataset.now === now) return;
    card.dataset.now = now;
    card.dataset.phase = phase;
    if (phase === 'failed') {
      card.replaceChildren(el('button', {
        type: 'button', onclick: () => this.#do(() => this.#api.retryPose(pose.id)),
      }, 'Not loaded. Try again'));
    } else if (phase === 'placeholder') {
      card.replaceChildren();
    } else if (!card.querySelector('img')) {
      card.replaceChildren(el('img', {
        src: this.#api.picture(picture),
        alt: card.title || 'A photo',
        onerror: () => {  // It left the phone's screen. It loads again when it is shown.
          card.replaceChildren();
          delete card.dataset.now;
        },
      }));
    }
  }

  #drawChips(choices) {
    const all = groups.flatMap(([group, words]) => choices[group].map((value) => ({ group, value, words: words(value) })));
    keyed(this.#chips, all, {
      key: ({ group, value }) => `${group}/${value}`,
      make: ({ group, value, words }) => el('button', {
        type: 'button', class: 'chip', onclick: () => this.#choose(memberOf[group], value),
      }, words),
      update: (chip, { group, value }) =>
        chip.setAttribute('aria-pressed', String(this.#filter[memberOf[group]] === value)),
    });
  }

  #choose(member, value) {
    this.#filter = { ...this.#filter, [member]: this.#filter[member] === value ? undefined : value };
    this.#isChosen = true;
    this.#list.scrollTop = 0;
    this.#sendFilter();
  }

  /** Sends the filter. Only the last choice counts. */
  #sendFilter = coalesced(() => this.#do(async () => {
    const filter = this.#filter;
    try {
      return await this.#api.filterFeed(filter);
    } finally {
      if (this.#filter === filter) this.#isChosen = false;
    }
  }));

  #onSeen(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && target.isConnected) this.#visible.add(target.dataset.id);
      else this.#visible.delete(target.dataset.id);
    }
    this.#tell();
  }

  #tellVisible() {
    if (!this.#device?.running || this.element.hidden) return undefined;
    return this.#attempt(() => this.#api.showPoses([...this.#visible]));
  }
}
