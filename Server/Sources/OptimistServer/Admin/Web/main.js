// This source file is part of the Optimist open source project, under the MIT licence.

import { account, accounts } from './accounts.js';
import { el } from './dom.js';
import { keys } from './keys.js';
import { overview } from './overview.js';
import { refusals } from './refusals.js';
import { rows } from './rows.js';
import { space, spaces } from './spaces.js';
import { webhooks } from './webhooks.js';

/** The pages by their path after the `#`. A page receives the captured groups and the query. */
const pages = [
  [/^\/$/, overview], [/^\/accounts$/, accounts], [/^\/accounts\/([^/]+)$/, account],
  [/^\/accounts\/([^/]+)\/rows$/, rows], [/^\/refusals$/, refusals], [/^\/keys$/, keys],
  [/^\/spaces$/, spaces], [/^\/spaces\/([^/]+)$/, space], [/^\/webhooks$/, webhooks],
];
const links = [
  ['#/', 'Overview'], ['#/accounts', 'Accounts'], ['#/spaces', 'Spaces'], ['#/keys', 'Keys'],
  ['#/webhooks', 'Webhooks'], ['#/refusals', 'Refusals'], ['/health', 'Health'],
];

const place = document.getElementById('page');
const notice = document.getElementById('notice');
let turn = 0;
let refresh = null;

async function show(isFirst) {
  const mine = ++turn;
  const [path, query = ''] = (location.hash.slice(1) || '/').split('?');
  showLinks(path);
  try {
    const [pattern, page] = pages.find(([pattern]) => pattern.test(path)) ?? pages[0];
    const parts = (path.match(pattern) ?? []).slice(1).map(decodeURIComponent);
    const shown = await page(parts, new URLSearchParams(query));
    if (mine !== turn) return;
    notice.textContent = '';
    document.title = `${shown.title}: Optimist server`;
    place.replaceChildren(...shown.content.filter(Boolean));
    refresh = shown.refresh ?? null;
    if (!isFirst) place.focus();
  } catch (error) {
    if (mine !== turn) return;
    refresh = null;
    place.replaceChildren();
    notice.textContent = error.message;
  }
}

function showLinks(path) {
  document.getElementById('pages').replaceChildren(...links.map(([to, name]) => {
    const start = to.slice(1);
    const isHere = start === '/' ? path === '/' : path.startsWith(start);
    return el('a', { href: to, 'aria-current': isHere ? 'page' : null }, name);
  }));
}

setInterval(async () => {
  if (!refresh || document.hidden) return;
  const mine = turn;
  try {
    await refresh();
    if (mine === turn) notice.textContent = '';
  } catch (error) {
    if (mine === turn) notice.textContent = error.message;
  }
}, 5000);

window.addEventListener('hashchange', () => show(false));
show(true);
