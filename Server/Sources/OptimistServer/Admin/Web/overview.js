// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { bytes, el, figures, panel, time } from './dom.js';

/** Live figures of the server. They are read again every five seconds while the page is seen. */
export async function overview() {
  const live = el('div');
  const show = async () => {
    const now = await server.overview();
    live.replaceChildren(figures([
      ['Storage', el('span', { class: now.trouble ? 'trouble' : '' }, now.trouble ?? 'can be written')],
      ['Open streams', String(now.openStreams)],
      ['Waiting writes', String(now.waiting)],
      ['Database', bytes(now.databaseBytes)],
      ['Write-ahead log', bytes(now.logBytes)],
      ['Connections', now.pool && `${now.pool.busy} of ${now.pool.size}`],
      ['Schema', `${now.schema.id}, version ${now.schema.version}`],
      ['Epoch', now.epoch],
      ['Time', time(now.time)],
    ]));
  };
  await show();
  return {
    title: 'Overview',
    content: [
      panel('Now', live, el('p', { class: 'faint' }, 'Figures over time are at ',
        el('a', { href: '/metrics' }, '/metrics'), ', for Prometheus.')),
    ],
    refresh: show,
  };
}
