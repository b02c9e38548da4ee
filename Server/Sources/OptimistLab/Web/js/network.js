// This source file is part of the Optimist open source project, under the MIT licence.

import { el, setText, setValue, uniqueID } from './dom.js';
import { milliseconds, networkNames } from './format.js';

/** The network of one phone: a profile, two sliders, and a button that drops an answer. */
export class NetworkPanel {
  #profiles = new Map();
  #latency;
  #loss;

  /**
   * @param title The device, such as `phone A`.
   * @param change Called with the user's change.
   */
  constructor(title, change) {
    this.#latency = new Slider('Latency', {
      max: 2000, step: 20, words: milliseconds, change: (latencyMs) => change({ latencyMs }),
    });
    this.#loss = new Slider('Loss', {
      max: 50, step: 1, words: (percent) => `${percent} %`, change: (lossPercent) => change({ lossPercent }),
    });
    const group = uniqueID('network');
    const choices = Object.entries(networkNames).map(([profile, words]) => {
      const radio = el('input', { type: 'radio', name: group, value: profile, onchange: () => change({ profile }) });
      this.#profiles.set(profile, radio);
      return el('label', {}, radio, el('span', {}, words));
    });
    this.element = el('fieldset', { class: 'network' },
      el('legend', {}, `Network of ${title}`),
      el('div', { class: 'segments' }, ...choices),
      this.#latency.element,
      this.#loss.element,
      el('button', {
        type: 'button', class: 'quiet', onclick: () => change({ dropNextResponses: 1 }),
      }, 'Lose the next answer'));
  }

  show({ profile, latencyMs, lossPercent }) {
    for (const [name, radio] of this.#profiles) radio.checked = name === profile;
    this.#latency.show(latencyMs);
    this.#loss.show(lossPercent);
  }
}

class Slider {
  #input;
  #output = el('output');
  #words;

  constructor(name, { max, step, words, change }) {
    this.#words = words;
    const id = uniqueID('slider');
    this.#input = el('input', {
      type: 'range', id, min: 0, max, step, value: 0,
      oninput: () => this.#describe(Number(this.#input.value)),
      onchange: () => change(Number(this.#input.value)),
    });
    this.#output.setAttribute('for', id);
    this.element = el('div', { class: 'slider' }, el('label', { htmlFor: id }, name), this.#input, this.#output);
    this.#describe(0);
  }

  show(value) {
    if (document.activeElement === this.#input && this.#input.matches(':active')) return;  // It is being dragged.
    setValue(this.#input, value);
    this.#describe(value);
  }

  #describe(value) {
    setText(this.#output, this.#words(value));
    this.#input.setAttribute('aria-valuetext', this.#words(value));
  }
}
