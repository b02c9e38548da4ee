// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { el, figures, id, panel, table, time } from './dom.js';

const link = (account, ...children) => el('a', { href: `#/accounts/${encodeURIComponent(account)}` }, ...children);

/** The accounts, searchable by the start of their addresses. */
export async function accounts(_, query) {
  const prefix = query.get('prefix') ?? '';
  const page = await server.accounts(prefix, query.get('after'));
  const field = el('input', { type: 'search', name: 'prefix', value: prefix, autocomplete: 'off', spellcheck: false });
  const search = el('form', {
    role: 'search',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/accounts?${new URLSearchParams({ prefix: field.value })}`;
    },
  }, el('label', {}, 'Address begins with', field), el('button', {}, 'Search'));
  const next = page.next
    && el('a', { href: `#/accounts?${new URLSearchParams({ prefix, after: page.next })}` }, 'Next page');
  const rows = page.accounts.map((account) => [link(account.id, account.email), id(account.id)]);
  return {
    title: 'Accounts',
    content: [
      panel('Accounts', search,
        rows.length ? table('Accounts', ['Address', 'Id'], rows) : el('p', { class: 'faint' }, 'No accounts found.'),
        next),
    ],
  };
}

/** An account with its sessions and row counts. */
export async function account([accountID]) {
  const found = await server.account(accountID);
  const sessions = found.sessions.map((session) => [
    session.device || 'unnamed', id(session.id), time(session.signedInAt), time(session.lastUsedAt),
    session.isListening ? 'open' : 'none', endButton(accountID, session),
  ]);
  const types = found.types.map((type) => [
    el('a', { href: `#/accounts/${encodeURIComponent(accountID)}/rows?${new URLSearchParams({ type: type.name })}` },
      type.name),
    String(type.rows),
  ]);
  return {
    title: found.email,
    content: [
      panel(found.email, figures([
        ['Id', id(found.id)], ['Transactions', String(found.seq)], ['Forgotten up to', String(found.floor)],
      ])),
      panel('Rows', table('Rows by type', ['Type', 'Living rows'], types)),
      panel('Sessions', sessions.length
        ? table('Sessions', ['Device', 'Id', 'Signed in', 'Last refreshed', 'Stream', ''], sessions)
        : el('p', { class: 'faint' }, 'No device is signed in.')),
    ],
  };
}

function endButton(accountID, session) {
  const device = session.device || session.id;
  return el('button', {
    class: 'danger', type: 'button', 'aria-label': `End the session of ${device}`,
    onclick: async () => {
      if (!confirm(`End the session of ${device}? The device keeps its rows and asks its user to sign in again.`)) return;
      try {
        await server.endSession(accountID, session.id);
        window.dispatchEvent(new Event('hashchange'));
      } catch (error) {
        document.getElementById('notice').textContent = error.message;
      }
    },
  }, 'End session');
}
