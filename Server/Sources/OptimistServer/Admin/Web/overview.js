// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { bytes, el, figures, panel, time } from './dom.js';

/** Live server metrics, refreshed every five seconds while the page is visible. */
export async function overview() {
  const live = el('div');
  const since = el('div');
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
    const done = now.sinceStart;
    since.replaceChildren(figures(done ? [
      ['Requests', String(done.requests)], ['Pushes', String(done.pushes)], ['Rows accepted', String(done.rowsAccepted)],
      ['Rows refused', String(done.rowsRefused)], ['Rows with conflicts', String(done.rowsConflicting)],
    ] : [['Figures', 'none: this process reports them elsewhere']]));
  };
  await show();
  return {
    title: 'Overview',
    content: [
      panel('Now', live),
      panel('Since this process started', since, el('p', { class: 'faint' }, 'Figures over time are at ',
        el('a', { href: '/metrics' }, '/metrics'), ', for Prometheus.')),
    ],
    refresh: show,
  };
}
