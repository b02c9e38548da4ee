// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { el, panel, table, time } from './dom.js';

const state = (webhook) => (webhook.isOff ? 'off' : webhook.failing ? 'failing' : 'on');
const moment = (text) => (text ? time(text) : 'never');
const number = (value) => (value === null ? 'unknown' : String(value));

/** The receivers of transactions, by name, as the server that calls them saved their state. */
export async function webhooks() {
  const found = await server.webhooks();
  const rows = found.webhooks.map((webhook) => [
    webhook.name, webhook.url ?? 'unknown', webhook.scope ?? 'all', webhook.types?.join(', ') ?? 'all', state(webhook),
    number(webhook.waiting), number(webhook.failing), number(webhook.lagSeconds), moment(webhook.deliveredAt),
    webhook.failure ?? 'none', moment(webhook.failedAt),
  ]);
  return {
    title: 'Webhooks',
    content: [
      panel('Webhooks',
        rows.length ? table('Webhooks',
          ['Name', 'URL', 'Scope', 'Types', 'State', 'Accounts waiting', 'Failing', 'Lag, s', 'Last success',
            'Last failure', 'At'], rows)
          : el('p', { class: 'faint' }, 'There are no webhooks. `optimist serve --webhook` adds one.')),
    ],
  };
}
