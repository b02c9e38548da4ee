// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { el, id, panel, table, time } from './dom.js';

const state = (key) => (key.isValid ? 'valid' : key.revokedAt ? 'revoked' : 'expired');
const count = (some) => (some ? String(some.length) : 'all');

/** The service keys, by id. Their texts are known only to the programs. */
export async function keys() {
  const found = await server.keys();
  const rows = found.keys.map((key) => [
    key.name, id(key.id), key.scope, key.types?.join(', ') ?? 'all', count(key.accounts), count(key.spaces), state(key),
    key.expiresAt ? time(key.expiresAt) : 'never', key.lastUsedAt ? time(key.lastUsedAt) : 'never',
  ]);
  return {
    title: 'Keys',
    content: [
      panel('Service keys',
        rows.length ? table('Service keys',
          ['Name', 'Id', 'Scope', 'Types', 'Accounts', 'Spaces', 'State', 'Expires', 'Last used'], rows)
          : el('p', { class: 'faint' }, 'There are no service keys. `optimist key create` makes one.')),
    ],
  };
}
