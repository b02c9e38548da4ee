// This source file is part of the Optimist open source project, under the MIT licence.

/** Helpers for a page that changes while people use it. User input only ever becomes text, never markup. */

let lastID = 0;

/** Returns an id for a label and its field. */
export const uniqueID = (name) => `${name}-${++lastID}`;

/** Creates an element. Properties starting with `on` are listeners; `class`, `role` and dashed names are attributes. */
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

/** Sets text only if it differs, so that a screen reader does not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets a field's value, unless it has the focus. */
export function setValue(field, value) {
  if (document.activeElement !== field && field.value !== String(value)) field.value = value;
}

/** Sets the options of a menu, as pairs of a value and its text. Does nothing if they are the same. */
export function setOptions(menu, options) {
  const wanted = JSON.stringify(options);
  if (menu.dataset.options === wanted) return;
  const chosen = menu.value;
  menu.dataset.options = wanted;
  menu.replaceChildren(...options.map(([value, text]) => el('option', { value }, text)));
  if (options.some(([value]) => value === chosen)) menu.value = chosen;
}

/**
 * Makes the children of `parent` match `items`. Each key has one element, which is created once and then updated, so
 * that focus and typed text are kept.
 */
export function keyed(parent, items, { key, make, update }) {
  const present = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let element = present.get(name);
    present.delete(name);
    if (!element) {
      element = make(item);
      element.dataset.key = name;
      parent.insertBefore(element, place);
    } else if (element === place) {
      place = place.nextElementSibling;
    } else if (parent.moveBefore) {
      parent.moveBefore(element, place);
    } else {
      parent.insertBefore(element, place);
    }
    update(element, item);
  }
  for (const gone of present.values()) gone.remove();
}

/** Runs `work` once for several calls, `delay` milliseconds after the first. */
export function soon(delay, work) {
  let timer;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      work();
    }, delay);
  };
}

/** Returns a function that runs work serially, because concurrent requests may overtake each other. */
export function inTurn() {
  let last = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

/** Returns a function that sends requests serially, and draws each answer, if any, before the next request. */
export function drawsInTurn(draw) {
  const turn = inTurn();
  return (ask) => turn(async () => {
    const answer = await ask();
    if (answer) draw(answer);
  });
}

/** Runs `work`, and once more if it is called while it runs. */
export function coalesced(work) {
  let isWaiting = false;
  let isRunning = false;
  return async function run() {
    if (isRunning || isWaiting) {
      isWaiting = true;
      return;
    }
    isRunning = true;
    try {
      do {
        isWaiting = false;
        await work();
      } while (isWaiting);
    } finally {
      isRunning = false;
      isWaiting = false;  // Even after an error, because otherwise it would never run again.
    }
  };
}
