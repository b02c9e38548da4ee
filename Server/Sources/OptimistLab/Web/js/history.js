// This source file is part of the Optimist open source project, under the MIT licence.

import { signOutReasons } from './format.js';

/** Groups the events of all phones into entries. Events of a row belong to the last write of that row. */

const kept = 60;

/** The kinds of events that start an entry with steps. */
const beginnings = new Set(['write', 'short', 'page', 'home']);

const happenings = {
  network: (event) => `network: ${event.text ?? 'changed'}`,
  crash: () => 'crashed',
  killed: (event) => (event.text === 'memory' ? 'killed for low memory' : 'killed by the user'),
  restart: () => 'restarted',
  session: (event) => event.text?.replace(/^(signed out: )(\w+)$/, (all, start, code) => start + (signOutReasons[code] ?? code))
    ?? 'session changed',
};

export class History {
  /** Newest first. Only entries that later events belong to have steps. */
  entries = [];
  #known = new Set();
  #names = new Map();
  #lastOfRow = new Map();

  add(event) {
    const key = [event.device, event.kind, event.row, event.ms].join('|');
    if (this.#known.has(key)) return;  // The stream was reopened and repeats its events.
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

  /** Adds a step. Repeated steps of the same kind and phone are ignored. */
  #addStep(event, key) {
    const entry = this.#lastOfRow.get(event.row);
    if (!entry) return;
    if (event.ms < entry.ms) return;
    const isSame = (step) => step.kind === event.kind && step.device === event.device
      && (entry.kind === 'write' || step.text === event.text);
    if (entry.steps.some(isSame)) return;
    if (event.kind === 'received') return;  // `seen` follows within a frame, and counts instead.
    if (event.kind === 'seen' && event.device === entry.device) return;  // The phone's own write.
    entry.steps.push({ ...event, key });
    entry.steps.sort((one, other) => one.ms - other.ms);
  }

  #insert(entry) {
    this.entries = [entry, ...this.entries].sort((one, other) => other.ms - one.ms).slice(0, kept);
    if (this.#known.size > 4000) this.#known = new Set([...this.#known].slice(-2000));
  }
}
