// This source file is part of the Optimist open source project, under the MIT licence.

/** Small tools for a page that changes under its reader's hands. What people wrote only ever becomes text. */

let lastID = 0;

/** An id for a label and its field. */
export const uniqueID = (name) => `${name}-${++lastID}`;

/** Makes an element. Properties starting with `on` listen, `class` and dashed names are attributes. */
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

/** Sets text only if it is another, so that a screen reader is not told the same thing twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets a field's value, unless someone is in it. */
export function setValue(field, value) {
  if (document.activeElement !== field && field.value !== String(value)) field.value = value;
}

/**
 * Makes the children of `parent` match `items`: one element for each key, made once, kept and updated ever after.
 * What has the focus, and what was typed into it, stays.
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

/** Runs `work` so many milliseconds after the first of several calls, once for all of them. */
export function soon(delay, work) {
  let timer;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      work();
    }, delay);
  };
}

/** Returns a function that runs each work after the one before: two requests at once may overtake each other. */
export function inTurn() {
  let last = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

/** Returns a function that asks in turn, and draws the answer before the next one asks. Without an answer nothing changes. */
export function drawsInTurn(draw) {
  const turn = inTurn();
  return (ask) => turn(async () => {
    const answer = await ask();
    if (answer) draw(answer);
  });
}

/** Runs `work` soon, once for however many calls, and again if called while it runs. */
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
      isWaiting = false;  // Also when it failed: else nobody would ever run it again.
    }
  };
}
