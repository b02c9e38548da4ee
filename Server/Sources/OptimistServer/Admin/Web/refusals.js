// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { el, id, panel, table, time } from './dom.js';

/** Recent refusals, newest first. */
export async function refusals() {
  const live = el('div');
  const show = async () => {
    const { refusals: all, limit } = await server.refusals();
    const rows = all.map((refusal) => [
      time(refusal.time), refusal.code, `${refusal.route} ${refusal.status}`,
      refusal.account && el('a', { href: `#/accounts/${encodeURIComponent(refusal.account)}` }, id(refusal.account)),
      refusal.id && id(`${refusal.type}:${refusal.id}`),
    ]);
    live.replaceChildren(
      rows.length
        ? table('Refusals', ['Time', 'Code', 'Route', 'Account', 'Row'], rows)
        : el('p', { class: 'faint' }, 'Nothing has been refused since this process started.'),
      el('p', { class: 'faint' }, `The last ${limit} refusals of this process. They are lost when it ends.`));
  };
  await show();
  return { title: 'Refusals', content: [panel('Refused lately', live)], refresh: show };
}
