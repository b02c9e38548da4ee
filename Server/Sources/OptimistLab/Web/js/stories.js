// This source file is part of the Optimist open source project, under the MIT licence.

import { LabError, lab } from './api.js';
import { el, setText } from './dom.js';

/** The five stories: a button that plays them, and a table and a plot of their figures. */
const main = document.getElementById('stories');
const run = el('button', { type: 'button', class: 'primary', onclick: () => start() }, 'Play the stories');
const progress = el('p', { class: 'faint', role: 'status', 'aria-live': 'polite' });
const body = el('tbody');
const table = el('div', { class: 'panel table', hidden: true, tabIndex: 0, role: 'region', 'aria-label': 'Figures' },
  el('table', {},
    el('thead', {}, el('tr', {}, el('th', {}, 'Story'), el('th', {}, 'Network'),
      el('th', { class: 'number' }, 'The old way'), el('th', { class: 'number' }, 'Optimist'))),
    body));
const plot = el('img', { class: 'plot', hidden: true, alt: 'The same figures as bars: the old way and Optimist' });
main.replaceChildren(el('div', { class: 'run' }, run, progress), table, plot);

async function start() {
  run.disabled = true;
  try {
    await lab.playStories();
    await follow();
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    setText(progress, error.message);
  }
  run.disabled = false;
}

/** Polls once per second until the stories have been played. */
async function follow() {
  for (;;) {
    const { figures, isPlaying, isWhole, problem } = await lab.stories();
    draw(figures, isPlaying);
    setText(progress, problem ?? (isPlaying ? `Playing … ${figures.length} figures so far. It takes some minutes.`
      : isWhole ? 'Played.' : ''));
    if (!isPlaying) return;
    await new Promise((wake) => { setTimeout(wake, 1000); });
  }
}

function draw(figures, isPlaying) {
  table.hidden = figures.length === 0;
  let title;
  body.replaceChildren(...figures.map((figure) => {
    const isNew = figure.title !== title;
    title = figure.title;
    return el('tr', {}, el('th', { scope: 'row' }, isNew ? `${figure.story}. ${title}` : ''), el('td', {}, figure.network),
      el('td', { class: 'number old' }, figure.oldWay), el('td', { class: 'number new' }, figure.optimist));
  }));
  plot.hidden = figures.length === 0 || isPlaying;
  if (!plot.hidden) plot.src = `/lab/stories.svg?of=${figures.length}`;
}

run.disabled = true;
follow().catch((error) => setText(progress, error.message)).finally(() => { run.disabled = false; });
