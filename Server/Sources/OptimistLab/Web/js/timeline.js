// This source file is part of the Optimist open source project, under the MIT licence.

import { el, keyed, setText } from './dom.js';
import { clockTime, milliseconds, stepWords } from './format.js';
import { History } from './history.js';

/** The events of all phones, newest first. The steps of a write show the time since the write. */
export class Timeline {
  #history = new History();
  #isDrawn = true;
  #list = el('ol', { class: 'plain timeline', 'aria-label': 'Timeline, newest first' });
  #empty = el('p', { class: 'faint' }, 'Write something on a phone and watch it travel.');
  element = el('section', { class: 'panel timeline-panel', 'aria-label': 'Timeline' },
    el('div', { class: 'heading' }, el('h3', {}, 'Timeline')), this.#empty, this.#list);

  add(event) {
    this.#history.add(event);
    this.#drawSoon();
  }

  /** Sets the name of a row, for events without a name. */
  name(row, text) { this.#history.name(row, text); }

  #drawSoon() {
    if (!this.#isDrawn) return;
    this.#isDrawn = false;
    requestAnimationFrame(() => {
      this.#isDrawn = true;
      this.#draw();
    });
  }

  #draw() {
    this.#empty.hidden = true;
    keyed(this.#list, this.#history.entries, {
      key: (entry) => entry.key,
      make: (entry) => el('li', { class: entry.steps ? 'write' : 'happening', 'data-device': entry.device },
        el('p', {},
          el('span', { class: 'device' }, entry.device),
          el('span', { class: 'what' }),
          el('time', { class: 'faint', dateTime: entry.at }, clockTime(entry.at))),
        entry.steps ? el('ol', { class: 'steps' }) : null),
      update: (element, entry) => {
        setText(element.querySelector('.what'), entry.text);
        if (entry.steps) this.#drawSteps(element.lastElementChild, entry);
      },
    });
  }

  #drawSteps(list, entry) {
    keyed(list, entry.steps, {
      key: (step) => step.key,
      make: (step) => el('li', { 'data-kind': step.kind },
        el('span', {}, stepWords(step, entry)),
        el('span', { class: 'after' })),
      update: (element, step) => setText(element.lastElementChild, `+${milliseconds(Math.max(step.ms - entry.ms, 0))}`),
    });
  }
}
