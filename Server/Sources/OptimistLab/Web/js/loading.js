// This source file is part of the Optimist open source project, under the MIT licence.

import { coalesced, el, keyed, setText } from './dom.js';
import { bytes, milliseconds } from './format.js';

const rows = [
  ['Cached', (loader) => `${loader.memoryHits} in memory · ${loader.diskHits} on disk`],
  ['Fetched', (loader) => `${loader.fetches} · ${loader.joins} joined`],
  ['Cancelled', (loader) => `${loader.cancelled} · ${loader.failures} failed`],
  ['Prefetched', (loader) => `${bytes(loader.prefetchedBytes)} · ${bytes(loader.unseenBytes)} never seen`],
  ['Waited, on screen', (loader) => waited(loader.waits.visible)],
  ['Waited, soon', (loader) => waited(loader.waits.soon)],
  ['Waited, prefetch', (loader) => waited(loader.waits.prefetch)],
];

const waited = (wait) => (wait ? `${milliseconds(wait.meanMs)} · at most ${milliseconds(wait.longestMs)}` : '–');

/** The counters of a phone's loaders, and the number of requests. */
export class LoadingPanel {
  #api;
  #isRunning = true;
  #requests = el('span', { class: 'count requests' }, '0');
  #line = el('p', { class: 'note' });
  #loaders = el('div', { class: 'loaders' });

  constructor(name, api, attempt) {
    this.#api = api;
    this.element = el('details', { class: 'panel loading', open: true, 'aria-label': `Loading on phone ${name}` },
      el('summary', {}, el('h3', {}, 'Loading'), this.#requests),
      this.#line,
      this.#loaders,
      el('div', { class: 'buttons' },
        el('button', { type: 'button', onclick: () => attempt(() => api.forgetLoaded()) }, 'Empty the caches')));
  }

  setRunning(isRunning) { this.#isRunning = isRunning; }

  refresh = coalesced(async () => {
    if (!this.#isRunning) return;
    const loading = await this.#api.loading().catch(() => null);
    if (!loading) return;
    const { loaders, requests, things } = loading;
    setText(this.#requests, String(requests));
    setText(this.#line, `${requests} requests for ${things} things`);
    this.element.classList.toggle('is-double', requests > things);
    keyed(this.#loaders, loaders, {
      key: (loader) => loader.name,
      make: (loader) => el('section', {}, el('h4', {}, loader.name),
        el('dl', {}, ...rows.map(([title]) => el('div', {}, el('dt', {}, title), el('dd'))))),
      update: (element, loader) => rows.forEach(([, text], index) =>
        setText(element.querySelectorAll('dd')[index], text(loader))),
    });
  });
}
