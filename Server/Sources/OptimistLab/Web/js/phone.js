// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { el, inTurn, setText } from './dom.js';
import { lastEnds, networkNames, unsentRows } from './format.js';
import { HomeScreen } from './home.js';
import { LoadingPanel } from './loading.js';
import { NetworkPanel } from './network.js';
import { OutboxPanel } from './outbox.js';
import { PlannerScreen } from './planner.js';
import { PosesScreen } from './poses.js';
import { RejectionsPanel } from './rejections.js';
import { SessionPanel } from './session.js';
import { ShortsScreen } from './shorts.js';
import { Tabs } from './tabs.js';

/** The screens of a phone, in the order of the tab bar. */
const screens = [PlannerScreen, HomeScreen, PosesScreen, ShortsScreen];

/** The name of the screen that shows each topic. */
const topics = { todos: 'Planner', home: 'Home', feed: 'Poses', shorts: 'Shorts' };

/** One phone: its frame with its screens, and its controls below. */
export class Phone {
  #api;
  #attempt;
  #device;
  #loading;
  #network;
  #outbox;
  #rejections;
  #screens;
  #session;
  #signal = el('span', { class: 'signal' });
  #crash = el('button', { type: 'button', onclick: () => this.#toggleRunning() });
  #kills = [['Kill', 'user'], ['Run out of memory', 'memory']].map(([name, by]) => el(
    'button', { type: 'button', onclick: () => this.#toggleRunning(false, () => this.#api.kill(by)) }, name));
  #version = el('p', { class: 'faint' });
  #lastEnd = el('p', { class: 'last-end', role: 'status' });
  #oldWay = el('input', { type: 'checkbox', role: 'switch', onchange: () => this.#setOldWay() });
  #oldWayWords = el('small');
  #off;
  #tabs;
  /** Runs crashes, restarts, network changes and switches of the old way one after another. */
  #turn = inTurn();
  /** The number of running crashes and restarts. Until they end, the phone is shown as off. */
  #switching = 0;
  /** The number of finished crashes and restarts. Answers to earlier requests may be outdated. */
  switched = 0;

  constructor(device, { attempt, wrote }) {
    this.#api = lab.device(device.name);
    this.#attempt = attempt;
    this.#network = new NetworkPanel(`phone ${device.name}`, (change) => this.#act(() => this.#api.setNetwork(change)));
    this.#outbox = new OutboxPanel(this.#api);
    this.#rejections = new RejectionsPanel(this.#api, attempt);
    this.#session = new SessionPanel(device.name, this.#api, attempt);
    this.#loading = new LoadingPanel(device.name, this.#api, attempt);
    this.#screens = screens.map((Screen) => new Screen(device.name, this.#api, { attempt, wrote }));
    this.#tabs = new Tabs(`Screens of phone ${device.name}`, this.#screens, (screen) => this.#choose(screen));
    this.element = this.#build(device.name);
    this.show(device);
    this.refresh();
  }

  get account() { return this.#device.account; }

  /** Shows the lab's description of the device. */
  show(described) {
    const device = { ...described, running: described.running && this.#switching === 0 };
    const wasRunning = this.#device?.running;
    this.#device = device;
    this.element.classList.toggle('is-off', !device.running);
    this.element.classList.toggle('is-old-way', device.oldWay);
    this.#off.hidden = device.running;
    this.#outbox.setRunning(device.running);
    this.#loading.setRunning(device.running);
    setText(this.#signal, device.running ? networkNames[device.network.profile] ?? device.network.profile : 'Off');
    this.#signal.dataset.profile = device.running ? device.network.profile : 'off';
    setText(this.#crash, device.running ? 'Crash' : 'Restart');
    for (const kill of this.#kills) kill.hidden = !device.running;
    this.#showHealth(device);
    this.#oldWay.checked = device.oldWay;
    this.#network.show(device.network);
    for (const screen of this.#screens) screen.show(device);
    if (device.running && wasRunning === false) this.refresh();
  }

  /** Reloads the changed topics. Default: all of them. */
  refresh(what = ['session', 'outbox', 'rejections', 'loading', ...Object.keys(topics)]) {
    if (what.includes('session')) this.#session.refresh();  // The session may change while the phone is off.
    if (!this.#device.running) return;
    if (what.some((topic) => topics[topic] === this.#tabs.shown.name)) this.#tabs.shown.refresh();
    if (what.includes('loading')) this.#loading.refresh();
    if (what.includes('outbox')) this.#outbox.refresh();
    if (what.includes('rejections')) this.#rejections.refresh();
  }

  #build(name) {
    this.#off = el('div', { class: 'off' },
      el('p', {}, `Phone ${name} is off.`),
      el('p', { class: 'faint' }, 'The app ended abruptly. Everything it had written is in its file.'),
      el('button', {
        type: 'button', class: 'primary', onclick: () => this.#toggleRunning(true),
      }, `Restart phone ${name}`));
    const frame = el('div', { class: 'frame' },
      el('div', { class: 'screen' },
        el('div', {},
          el('div', { class: 'bar' }, el('span', {}, `Phone ${name}`), this.#signal),
          this.#session.banner),
        ...this.#screens.map((screen) => screen.element),
        this.#tabs.element,
        this.#off));
    const power = el('div', { class: 'buttons' }, this.#crash, ...this.#kills);
    const oldWay = el('label', { class: 'switch' },
      this.#oldWay,
      el('span', { class: 'track', 'aria-hidden': 'true' }),
      el('span', {}, 'The old way', this.#oldWayWords));
    setText(this.#oldWayWords, this.#tabs.shown.oldWay);
    return el('section', { class: 'phone', 'aria-label': `Phone ${name}` },
      frame,
      el('div', { class: 'panel' }, this.#network.element, this.#version, power, this.#lastEnd, oldWay),
      this.#session.element,
      this.#rejections.element,
      this.#outbox.element,
      this.#loading.element);
  }

  #choose(screen) {
    setText(this.#oldWayWords, screen.oldWay);
    if (this.#device.running) screen.refresh();
  }

  #showHealth({ version, running, lastEnd }) {
    this.#version.hidden = !version;
    setText(this.#version, version === '1.0.1' ? 'The app is v1.0.1, which crashes at sign-in.' : `The app is v${version}.`);
    this.#lastEnd.hidden = !running || !lastEnd;
    if (this.#lastEnd.hidden) return;
    this.#lastEnd.dataset.kind = lastEnd.kind;
    setText(this.#lastEnd, `${lastEnds[lastEnd.kind](lastEnd)} ${unsentRows(lastEnd)}`);
  }

  #toggleRunning(fromScreen = false, end = () => this.#api.crash()) {
    return this.#attempt(async () => {
      const { running } = this.#device;
      this.#switching += 1;
      this.show(this.#device);  // Shown as off immediately, so that nothing is requested from it.
      await this.#turn(() => (running ? end() : this.#api.restart())).finally(() => {
        this.#switching -= 1;
        this.switched += 1;
      });
      if (!running) this.show({ ...this.#device, running: true });
      if (fromScreen) this.#crash.focus();  // The pressed button is hidden now.
    });
  }

  #setOldWay() {
    const isOn = this.#oldWay.checked;
    return this.#act(() => this.#api.setOldWay(isOn));
  }

  #act(work) { return this.#attempt(() => this.#turn(work)); }
}
