// This source file is part of the Optimist open source project, under the MIT licence.

/** Helpers for the pages. They insert user data as text only, never as HTML. */

/** Makes an element. Properties starting with `on` are listeners; `class` and dashed names are attributes. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class' || name === 'role' || name.includes('-')) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A table with a caption for screen readers. Each row is a list of texts or elements. */
export function table(caption, names, rows) {
  return el('div', { class: 'scroll' },
    el('table', {},
      el('caption', { class: 'unseen' }, caption),
      el('thead', {}, el('tr', {}, ...names.map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, ...rows.map((cells) => el('tr', {},
        ...cells.map((cell, index) => el('td', { 'data-name': names[index] }, cell ?? '')))))));
}

/** A panel with a heading. */
export const panel = (title, ...children) => el('section', { class: 'panel' }, el('h2', {}, title), ...children);

export const id = (text) => el('span', { class: 'id' }, text);

/** A server time in the reader's time zone, with milliseconds. */
export function time(text) {
  if (!text) return '';
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const shown = date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  return el('time', { dateTime: text, title: text }, shown);
}

export function bytes(count) {
  if (count === null || count === undefined) return 'unknown';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let size = count;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** A list of names and values. Entries without a value are left out. */
export const figures = (entries) => el('dl', { class: 'figures' },
  ...entries.filter(([, value]) => value !== null)
    .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
