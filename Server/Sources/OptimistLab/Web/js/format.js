// This source file is part of the Optimist open source project, under the MIT licence.

/** Words for what the lab reports. */

/** Each sync state: the word on the badge, and the sentence read aloud. */
export const syncStates = {
  synced: ['synced', 'The server has it.'],
  pending: ['pending', 'Kept on this phone, not sent yet.'],
  inFlight: ['sending', 'On its way to the server.'],
  rejected: ['rejected', 'The server refused it: see below the phone.'],
  blocked: ['blocked', 'Waits for another row.'],
  parked: ['parked', 'Received, and waiting for what it refers to.'],
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

/** Why nobody is signed in. The server may have reasons of its own. */
export const signOutReasons = {
  never_signed_in: 'Nobody has signed in on this phone.',
  signed_out: 'You have signed out.',
  replaced: 'Somebody else has signed in here.',
  other_server: 'The kept credentials belong to another server.',
  credentials_unreadable: 'The kept credentials could not be read.',
  refresh_expired: 'The session was not used for too long.',
  signed_in_elsewhere: 'The account was signed in on another device.',
  revoked: 'The session was ended from elsewhere.',
  password_changed: 'The password was changed on another device.',
  account_deleted: 'The account was deleted.',
  reuse_detected: 'The session was ended because its token was used twice.',
  refused: 'The server has ended the session.',
};

/** What a phone does before it is there, by the step that the lab names. */
export const openingSteps = {
  turn: 'It waits for its turn to open.',
  database: 'It opens its database.',
  signIn: 'It signs in.',
  others: 'It is open, and waits for the others.',
};

/** The status line: `3 pending · offline · 1 rejected`. */
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

/** Milliseconds as people read them: 0.8 ms, 12 ms, 3.4 s. */
export function milliseconds(value) {
  if (value < 0.05) return '0 ms';
  if (value < 10) return `${value.toFixed(1)} ms`;
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

const steps = {
  atOnce: (text) => `${text} was here`,
  joined: (text) => `joined the prefetch of the ${text}`,
  asked: (text) => `asked for the ${text}`,
  loaded: (text) => `${text} shown`,
  failed: (text) => `${text} failed`,
  redraw: (text) => `drawn ${text}`,
  places: (text) => `${text} places`,
  firstPicture: () => 'first picture',
  allPictures: (text) => `all ${text}`,
};

/** A step of an entry of the timeline. */
export function stepWords(step, entry) {
  const words = steps[step.kind]?.(step.text) ?? step.kind;
  return step.device === entry.device ? words : `${words} on ${step.device}`;
}

/** How often: once, 3 times. */
export const times = (count) => (count === 1 ? 'once' : `${count} times`);

/** A count of bytes as people read it: 800 B, 12 KB, 3.4 MB. */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  return count < 1e6 ? `${Math.round(count / 1000)} KB` : `${(count / 1e6).toFixed(1)} MB`;
}

const ways = { memory: 'was here', joined: 'joined the prefetch', asked: 'asked for' };

/** What became of a thing that a video needs. */
export function partWords(state, way) {
  if (way && (state === 'here' || state === 'loading')) return ways[way];
  return { absent: 'not asked for', prefetching: 'on its way', here: 'here', failed: 'failed', cancelled: 'given up', loading: 'on its way' }[state];
}

/** A time span as people say it: 12 s, 2 min 5 s, 15 min. */
export function span(value) {
  const seconds = Math.round(value / 1000);
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  return [minutes && `${minutes} min`, (rest || !minutes) && `${rest} s`].filter(Boolean).join(' ');
}

/** Today, by the calendar on the wall here. */
export function today() {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** How the launch before ended, as the marker and the reports tell the present one. */
export const lastEnds = {
  normal: () => 'The launch before ended as it should.',
  updated: () => 'The launch before ended with an update.',
  systemRestarted: () => 'The launch before ended when the system restarted.',
  killed: () => 'The launch before was killed: there is no report, and memory was not low.',
  outOfMemory: () => 'The launch before was killed for memory: the system had warned of it.',
  hung: () => 'The launch before was killed while it did not answer.',
  crashed: ({ function: place }) => `The launch before crashed${place ? ` in ${place}` : ''}.`,
};

/** What became of what the server did not have yet. */
export function unsentRows({ unsent, lost }) {
  if (unsent === undefined) return '';
  if (unsent === 0) return 'Nothing was unsent.';
  const rows = unsent === 1 ? '1 row was unsent' : `${unsent} rows were unsent`;
  return lost === 0 ? `${rows}, and none is lost.` : `${rows}, and ${lost} of them lost.`;
}
