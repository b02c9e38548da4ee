// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { coalesced, el, keyed, setText } from './dom.js';

const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** The health of the simulated people's app, by version. */
export class PeoplePanel {
  #come = el('button', { type: 'button', onclick: () => this.#letCome() }, 'Fifty people use v1.0.1 and v1.0.2');
  #versions = el('ul', { class: 'plain', 'aria-label': 'Versions' });

  constructor(attempt) {
    this.attempt = attempt;
    this.element = el('section', { class: 'panel', 'aria-label': 'Health by version' },
      el('div', { class: 'heading' },
        el('h3', {}, 'Health by version'),
        el('a', { href: '/health' }, 'Plot and signatures')),
      el('p', { class: 'faint' }, 'Version 1.0.1 crashes at sign-in. Networks lose and repeat reports, and clocks are wrong.'),
      el('div', { class: 'buttons' }, this.#come),
      this.#versions);
    this.refresh();
  }

  refresh = coalesced(async () => {
    const health = await lab.health().catch(() => null);
    if (!health) return;
    // One phone that never crashed is not representative of a version.
    const counted = health.versions.filter(({ people, crashes, kills }) => people > 1 || crashes + kills > 0);
    keyed(this.#versions, counted, {
      key: ({ version }) => version,
      make: () => el('li'),
      update: (element, {
        version, people, crashes, kills, abruptEndsWithUnsentRows: unsent, crashFreePeople: { share, atLeast, atMost },
      }) => setText(
        element,
        `v${version}: ${percent(share)} of ${people === 1 ? '1 person' : `${people} people`} had no crash (95 %: ${percent(atLeast)} to ${percent(atMost)}) · `
        + `${crashes} crashes, ${kills} kills, ${unsent} of them with unsent rows`),
    });
  });

  async #letCome() {
    this.#come.disabled = true;
    await this.attempt(() => lab.letPeopleCome());
    this.#come.disabled = false;
    this.refresh();
  }
}
