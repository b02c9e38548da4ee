// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { coalesced, el, setText } from './dom.js';

/** Buttons that add content to the server for the other screens, or hold back pictures. */
export class ContentPanel {
  #held = el('p', { class: 'note', role: 'status' });
  #release;

  constructor(attempt) {
    const button = (words, work) => el('button', {
      type: 'button',
      onclick: async () => {
        await attempt(work);
        this.refresh();
      },
    }, words);
    this.#release = button('Let them go', () => lab.holdPictures(0));
    this.element = el('section', { class: 'panel content', 'aria-label': 'What the server shows' },
      el('div', { class: 'heading' }, el('h3', {}, 'What the server shows')),
      el('div', { class: 'buttons' },
        button('New notice', () => lab.publishHome('notices')),
        button('New pose', () => lab.publishPose()),
        button('Hold the next picture', () => lab.holdPictures(1)),
        this.#release),
      this.#held);
    this.refresh();
  }

  refresh = coalesced(async () => {
    const pictures = await lab.heldPictures().catch(() => null);
    if (!pictures) return;
    const { toHold, held } = pictures;
    const words = [toHold && `${toHold} to be held`, held && `${held} held back`].filter(Boolean).join(' · ');
    setText(this.#held, words);
    this.#held.hidden = !words;
    this.#release.hidden = !words;
  });
}
