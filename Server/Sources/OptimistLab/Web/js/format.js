// This source file is part of the Optimist open source project, under the MIT licence.

/** Texts for the lab's states. */

/** Each sync state: the text of the badge, and its explanation. */
export const syncStates = {
  synced: ['synced', 'The server has it.'],
  pending: ['pending', 'Saved on this phone, not sent yet.'],
  inFlight: ['sending', 'On its way to the server.'],
  rejected: ['rejected', 'The server refused it: see below the phone.'],
  blocked: ['blocked', 'Waiting for another row.'],
  parked: ['parked', 'Received, but waiting for a row that it refers to.'],
};

export const networkNames = { online: 'Online', '4g': '4G', '3g': '3G', flaky: 'Flaky', offline: 'Offline' };

const phases = {
  stopped: 'off', idle: 'up to date', waiting: 'waiting', syncing: 'syncing', offline: 'offline', paused: 'paused',
  failed: 'failed',
};

export const sessionStates = {
  active: 'signed in',
  refreshing: 'renewing',
  degraded: 'not renewed',
  restoring: 'starting',
  locked: 'locked',
  signedOut: 'signed out',
  off: 'phone is off',
};

/** Reasons for a sign-out. The server may have additional ones. */
export const signOutReasons = {
  never_signed_in: 'No one has signed in on this phone.',
  signed_out: 'You have signed out.',
  replaced: 'Another user has signed in here.',
  other_server: 'The stored credentials belong to another server.',
  credentials_unreadable: 'The stored credentials could not be read.',
  refresh_expired: 'The session was not used for too long.',
  signed_in_elsewhere: 'The account was signed in on another device.',
  revoked: 'The session was revoked.',
  password_changed: 'The password was changed on another device.',
  account_deleted: 'The account was deleted.',
  reuse_detected: 'The session was ended because its token was used twice.',
  refused: 'The server has ended the session.',
};

/** The progress of a phone that is opening. */
export const openingSteps = {
  turn: 'Waiting for its turn to open.',
  database: 'Opening its database.',
  signIn: 'Signing in.',
  others: 'Open, and waiting for the other phones.',
};

/** Returns the status line: `3 pending · offline · 1 rejected`. */
export function statusLine({ pending, rejected, parked, signedIn, status }) {
  const phase = signedIn ? phases[status.phase] : 'signed out';
  return [
    pending > 0 && `${pending} pending`,
    phase ?? status.phase,
    ['failed', 'waiting'].includes(status.phase) && status.detail,
    rejected > 0 && `${rejected} rejected`,
    parked > 0 && `${parked} parked`,
  ].filter(Boolean).join(' · ');
}

export const clockTime = (iso) =>
  iso ? new Date(iso).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' }) : 'never';

/** Formats milliseconds: 0.8 ms, 12 ms, 3.4 s. */
export function milliseconds(value) {
  if (value < 0.05) return '0 ms';
  if (value < 10) return `${value.toFixed(1)} ms`;
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

const steps = {
  atOnce: (text) => `${text} was in memory`,
  joined: (text) => `joined the prefetch of the ${text}`,
  asked: (text) => `requested the ${text}`,
  loaded: (text) => `${text} shown`,
  failed: (text) => `${text} failed`,
  redraw: (text) => `drawn ${text}`,
  places: (text) => `${text} items`,
  firstPicture: () => 'first picture',
  allPictures: (text) => `all ${text}`,
};

/** Returns the text of a step in the timeline. */
export function stepWords(step, entry) {
  const words = steps[step.kind]?.(step.text) ?? step.kind;
  return step.device === entry.device ? words : `${words} on ${step.device}`;
}

/** Formats a count: once, 3 times. */
export const times = (count) => (count === 1 ? 'once' : `${count} times`);

/** Formats bytes: 800 B, 12 KB, 3.4 MB. */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  return count < 1e6 ? `${Math.round(count / 1000)} KB` : `${(count / 1e6).toFixed(1)} MB`;
}

const ways = { memory: 'was in memory', joined: 'joined the prefetch', asked: 'requested' };

/** Returns the state of a value that a video needs. */
export function partWords(state, way) {
  if (way && (state === 'here' || state === 'loading')) return ways[way];
  return { absent: 'not requested', prefetching: 'on its way', here: 'in memory', failed: 'failed', cancelled: 'cancelled', loading: 'on its way' }[state];
}

/** Formats a time span: 12 s, 2 min 5 s, 15 min. */
export function span(value) {
  const seconds = Math.round(value / 1000);
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  return [minutes && `${minutes} min`, (rest || !minutes) && `${rest} s`].filter(Boolean).join(' ');
}

/** Returns today's date in local time. */
export function today() {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** The end of the previous launch, as the launch marker and the reports show it. */
export const lastEnds = {
  normal: () => 'The previous launch ended normally.',
  updated: () => 'The previous launch ended with an update.',
  systemRestarted: () => 'The previous launch ended when the system restarted.',
  killed: () => 'The previous launch was killed, without a report or low memory.',
  outOfMemory: () => 'The previous launch was killed after a warning of low memory.',
  hung: () => 'The previous launch was killed because it hung.',
  crashed: ({ function: place }) => `The previous launch crashed${place ? ` in ${place}` : ''}.`,
};

/** Returns how many unsent rows that launch left, and whether they were lost. */
export function unsentRows({ unsent, lost }) {
  if (unsent === undefined) return '';
  if (unsent === 0) return 'Nothing was unsent.';
  const rows = unsent === 1 ? '1 row was unsent' : `${unsent} rows were unsent`;
  return lost === 0 ? `${rows}, and nothing was lost.` : `${rows}, and ${lost} of them lost.`;
}
