// This source file is part of the Optimist open source project, under the MIT licence.

import { signOutReasons } from './format.js';

/** Puts the events of all phones in order: what happened to a row belongs to the last write of that row. */

const kept = 60;

/** What others follow from. */
const beginnings = new Set(['write', 'short', 'page', 'home']);

const happenings = {
  network: (event) => `network: ${event.text ?? 'changed'}`,
  crash: () => 'crashed',
  killed: (event) => (event.text === 'memory' ? 'killed for memory' : 'killed by its user'),
  restart: () => 'restarted',
  session: (event) => event.text?.replace(/^(signed out: )(\w+)$/, (all, start, code) => start + (signOutReasons[code] ?? code))
    ?? 'session changed',
};

export class History {
  /** Newest first. A write has steps, anything else has none. */
  entries = [];
  #known = new Set();
  #names = new Map();
  #lastOfRow = new Map();

  add(event) {
    const key = [event.device, event.kind, event.row, event.ms].join('|');
    if (this.#known.has(key)) return;  // The stream was opened anew and tells what it told before.
    this.#known.add(key);
    if (beginnings.has(event.kind)) this.#addWrite(event, key);
    else if (event.row) this.#addStep(event, key);
    else this.#insert({ ...event, key, text: happenings[event.kind]?.(event) ?? event.kind, steps: null });
  }

  name(row, text) { this.#names.set(row, text); }

  #addWrite(event, key) {
    const entry = { ...event, key, text: event.text ?? this.#names.get(event.row) ?? 'a row', steps: [] };
    this.#lastOfRow.set(event.row, entry);
    this.#insert(entry);
  }

  /** One step of each kind and phone is enough: that the row was shown again says nothing. */
  #addStep(event, key) {
    const entry = this.#lastOfRow.get(event.row);
    if (!entry) return;
    if (event.ms < entry.ms) return;
    const isSame = (step) => step.kind === event.kind && step.device === event.device
      && (entry.kind === 'write' || step.text === event.text);
    if (entry.steps.some(isSame)) return;
    if (event.kind === 'received') return;  // Being seen is what counts, and follows within a frame.
    if (event.kind === 'seen' && event.device === entry.device) return;  // Its own echo.
    entry.steps.push({ ...event, key });
    entry.steps.sort((one, other) => one.ms - other.ms);
  }

  #insert(entry) {
    this.entries = [entry, ...this.entries].sort((one, other) => other.ms - one.ms).slice(0, kept);
    if (this.#known.size > 4000) this.#known = new Set([...this.#known].slice(-2000));
  }
}
