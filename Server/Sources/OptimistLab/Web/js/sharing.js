// This source file is part of the Optimist open source project, under the MIT licence.

import { lab } from './api.js';
import { attempting, keeping } from './attempt.js';
import { setText } from './dom.js';
import { SharingPhone } from './sharing-phone.js';

/** The page of a shared list: two people with three devices. */
const main = document.getElementById('sharing');
const notice = document.getElementById('notice');
const restart = document.getElementById('restart');
const attempt = attempting(notice);
let phones = new Map();

const refreshDevices = keeping(notice)(async () => show(await lab.sharing.phones()));

function show(devices) {
  for (const device of devices) phones.get(device.name)?.show(device);
  if (phones.size > 0) return;
  phones = new Map(devices.map((device) => [device.name, new SharingPhone(device, attempt)]));
  main.replaceChildren(...[...phones.values()].map((phone) => phone.element));
}

restart.addEventListener('click', () => attempt(async () => {
  restart.disabled = true;
  main.inert = true;
  try {
    const devices = await lab.sharing.startOver();
    phones.clear();
    show(devices);
  } finally {
    restart.disabled = false;
    main.inert = false;
  }
}));

setText(main.querySelector('[role="status"]'), 'Waiting for the devices to open and sign in.');
lab.sharing.events({
  opened: async () => {
    await refreshDevices();
    for (const phone of phones.values()) phone.refresh();
  },
  changed: ({ device, what }) => {
    if (what.includes('status') || what.includes('device')) refreshDevices();
    phones.get(device)?.refresh(what);
  },
});

// Events are hints. Polling finds the changes they miss, such as a restart of the lab.
setInterval(() => { if (!document.hidden) refreshDevices(); }, 3000);
