// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { attempting, keeping } from './attempt.js';
import { ContentPanel } from './content.js';
import { el, setText } from './dom.js';
import { openingSteps } from './format.js';
import { PeoplePanel } from './people.js';
import { Phone } from './phone.js';
import { ServerPanel } from './server.js';
import { ServersPanel } from './servers.js';
import { Timeline } from './timeline.js';

const main = document.getElementById('lab');
const notice = document.getElementById('notice');
const attempt = attempting(notice);
const kept = keeping(notice);
const phones = new Map();
/** The frames of phones that are not open yet, by name. */
const waiting = new Map([...main.querySelectorAll('.is-waiting')].map((frame) => [frame.dataset.phone, frame]));
const timeline = new Timeline();
const server = new ServerPanel();

/** Shows what the phones wait for, in the frame of one phone or, by default, in all frames. */
function waitFor(words, name) {
  for (const [phone, frame] of waiting) {
    if (name === undefined || name === phone) setText(frame.querySelector('[role="status"]'), words);
  }
}

/** Shows the progress of opening phones, until all are open. */
async function followOpening() {
  while (waiting.size > 0) {
    const opening = await lab.opening().catch(() => null);
    for (const { name, step } of opening?.phones ?? []) waitFor(openingSteps[step], name);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

const refreshDevices = kept(async () => {
  const switched = new Map([...phones].map(([name, phone]) => [name, phone.switched]));
  const devices = await lab.devices().catch((error) => {
    waitFor('Waiting for the lab. It does not answer.');
    throw error;
  });
  for (const device of devices) {
    const phone = phoneFor(device);
    if ((switched.get(device.name) ?? 0) === phone.switched) phone.show(device);
    else refreshDevices();
  }
  for (const frame of waiting.values()) frame.remove();  // The lab does not have these phones.
  waiting.clear();
  main.dataset.phones = phones.size;
});

const refreshServer = kept(() => server.refresh(phones.values().next().value?.account));

function phoneFor(device) {
  const known = phones.get(device.name);
  if (known) return known;
  const phone = new Phone(device, { attempt, wrote: (row, text) => timeline.name(row, text) });
  phones.set(device.name, phone);
  const frame = waiting.get(device.name);
  if (frame) frame.replaceWith(phone.element);
  else main.insertBefore(phone.element, middle);
  waiting.delete(device.name);
  return phone;
}

const content = new ContentPanel(attempt);
const servers = new ServersPanel(attempt, () => [...phones.keys()]);
const people = new PeoplePanel(attempt);
const middle = el(
  'div', { class: 'middle' },
  servers.element, server.element, content.element, people.element, timeline.element);
main.append(middle);
waitFor('Waiting for the lab.');
followOpening();
lab.events({
  opened: async () => {
    for (const phone of phones.values()) phone.refresh();
    await refreshDevices();
    refreshServer();
    servers.refresh();
  },
  timeline: (event) => timeline.add(event),
  changed: async ({ device, what }) => {
    if (what.includes('status') || what.includes('device')) await refreshDevices();  // The phone may be off.
    phones.get(device)?.refresh(what);
    if (what.includes('loading')) content.refresh();
    refreshServer();
    servers.refresh();
  },
});

// Events are hints. Polling finds the changes they miss: devices added by automation, or a restart of the lab.
setInterval(() => {
  if (document.hidden) return;
  refreshDevices();
  content.refresh();
  people.refresh();
  servers.refresh();
}, 3000);
