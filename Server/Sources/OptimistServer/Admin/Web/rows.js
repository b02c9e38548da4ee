// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { el, id, panel, table, time } from './dom.js';

/** The rows of a type, ordered by their last change. Each column has the clock of its last write. */
export async function rows([account], query) {
  const type = query.get('type');
  const page = await server.rows(account, { type, after: query.get('after'), id: query.get('id') });
  const here = `#/accounts/${encodeURIComponent(account)}`;
  const to = (more) => `${here}/rows?${new URLSearchParams({ type, ...more })}`;
  const field = el('input', {
    type: 'search', name: 'id', value: query.get('id') ?? '', autocomplete: 'off', spellcheck: false,
  });
  const search = el('form', {
    role: 'search',
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = to(field.value ? { id: field.value.trim() } : {});
    },
  }, el('label', {}, 'Row with the id', field), el('button', {}, 'Find'));
  return {
    title: `Rows: ${type}`,
    content: [
      panel(`Rows: ${type}`, el('p', {}, el('a', { href: here }, 'Back to the account')), search,
        el('p', { class: 'faint' }, 'Rows are sorted by their last change, oldest first. Deleted rows are kept for a while.')),
      ...page.rows.map(row),
      page.rows.length ? null : el('p', { class: 'faint' }, 'No row is here.'),
      page.next && el('p', {}, el('a', { href: to({ after: page.next }) }, 'Next page')),
    ],
  };
}

function row(found) {
  const life = Math.ceil(found.generation / 2);
  const past = [
    `Last changed in transaction ${found.seq}`, `this life began in ${found.bornSeq}`, `life ${life}`,
  ].join(', ');
  const columns = found.columns.map((column) => [
    column.name, JSON.stringify(column.value), clock(column.clock), column.clock ? id(column.clock.device) : '',
  ]);
  return el('section', { class: 'panel' },
    el('h3', {}, id(found.id)),
    el('p', { class: 'faint' }, past),
    found.isAlive ? table(`Columns of ${found.id}`, ['Column', 'Value', 'Written', 'Device'], columns) : gone(found));
}

const clock = (written) => written && time(written.time);

function gone(found) {
  const by = found.deleted ? [' at ', time(found.deleted.time), ' by ', id(found.deleted.device)] : [];
  return el('p', {}, 'Deleted', ...by,
    ...(found.mergedInto ? [', merged into ', id(found.mergedInto)] : []), '.');
}
